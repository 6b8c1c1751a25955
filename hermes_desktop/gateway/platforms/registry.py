"""Registry of the platforms that this program can serve, with their adapter factories."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.checks import PlatformCheck
from hermes_desktop.gateway.platforms.reconnect import LinkTiming


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """The context in which an adapter is created, besides its own settings.

    The adapter does not take the lock of its bot token: it names what must not be used twice
    (:attr:`PlatformAdapter.token`), and its connector has taken the lock before.

    Attributes:
        platform: The platform of the adapter.
        home: The home; caches of media are stored in folders of it.
        clock: The time source.
    """

    platform: Platform
    home: Path = field(default_factory=Path)
    clock: Clock = field(default_factory=SystemClock)


NOT_SERVED = "This version of Hermes Desktop does not support it."

AdapterFactory = Callable[[PlatformConfig, AdapterContext], PlatformAdapter]


class AdapterRegistry:
    """Platforms and the functions that create their adapters.

    A factory only constructs: it does not import missing packages, connect, or raise for a wrong
    token. It runs on the event loop.

    Args:
        factories: Create the adapters.
        checks: Check the settings; for platforms without, an adapter connects and disconnects.
        timing: Time-outs and retry delays; None: those of the settings.
    """

    def __init__(
        self,
        factories: Mapping[Platform, AdapterFactory] | None = None,
        *,
        checks: Mapping[Platform, PlatformCheck] | None = None,
        timing: LinkTiming | None = None,
    ) -> None:
        self._factories = dict(factories or {})
        self._checks = dict(checks or {})
        self._lacks: dict[Platform, Callable[[], str]] = {}
        self._loads: dict[Platform, Callable[[], object]] = {}
        self.timing = timing

    def register(
        self,
        platform: Platform,
        factory: AdapterFactory,
        check: PlatformCheck | None = None,
        lacks: Callable[[], str] = lambda: "",
        load: Callable[[], object] = lambda: None,
    ) -> None:
        """Register a platform; a later registration replaces an earlier one.

        Args:
            platform: The platform.
            factory: Creates its adapters.
            check: Checks its settings.
            lacks: Returns a sentence about missing packages; "" for none. Reads files.
            load: Loads its modules, which takes a while; any thread.
        """
        self._factories[platform] = factory
        self._lacks[platform] = lacks
        self._loads[platform] = load
        self._checks.pop(platform, None)
        if check is not None:
            self._checks[platform] = check

    def load(self, platforms: Iterable[Platform]) -> None:
        """Load what is needed to create adapters of these platforms. Blocks; not for the loop."""
        for platform in platforms:
            if platform in self._loads and not self.why_not(platform):
                self._loads[platform]()

    def why_not(self, platform: Platform) -> str:
        """Return why a platform cannot be served here, as a sentence; "" if it can."""
        if platform not in self._factories:
            return NOT_SERVED
        lacks = self._lacks.get(platform)
        return lacks() if lacks is not None else ""

    def check_of(self, platform: Platform) -> PlatformCheck | None:
        """Return the check of its settings; None where only connecting an adapter can tell."""
        return self._checks.get(platform)

    def __contains__(self, platform: Platform) -> bool:
        return platform in self._factories

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        """Create a new adapter that is not connected.

        Raises:
            LookupError: This version cannot serve the platform.
        """
        factory = self._factories.get(context.platform)
        if factory is None:
            raise LookupError(f"This version cannot serve {context.platform.value}")
        return factory(config, context)
