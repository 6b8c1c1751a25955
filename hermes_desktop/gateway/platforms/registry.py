"""Which platforms this program can serve, and how an adapter of each is made."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.lean_loading import forget_sources
from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.checks import PlatformCheck
from hermes_desktop.gateway.platforms.reconnect import LinkTiming


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What an adapter may use beside its own settings.

    The lock of its bot token is not taken by the adapter: it names what must not be used twice
    (:attr:`PlatformAdapter.token`), and whoever connects it has taken the lock before.

    Attributes:
        platform: What the adapter is made for.
        home: The home; caches of media go into folders of it.
        clock: Where times come from.
    """

    platform: Platform
    home: Path = field(default_factory=Path)
    clock: Clock = field(default_factory=SystemClock)


NOT_SERVED = "This version of Hermes Desktop cannot serve it."

AdapterFactory = Callable[[PlatformConfig, AdapterContext], PlatformAdapter]


class AdapterRegistry:
    """Platforms and the functions that make their adapters.

    A factory only builds: nothing is imported that is missing, nothing connected, nothing raised
    for a wrong token. It runs on the loop.

    Args:
        factories: How adapters are made.
        checks: How their settings are tried; for those without, an adapter connects and leaves.
        timing: How patient whoever connects them is; None: as the settings say.
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
        """Say how a platform is served; the last word counts.

        Args:
            platform: Which one.
            factory: How its adapters are made.
            check: How its settings are tried.
            lacks: A sentence about what is not installed here; "" for nothing. Looks at files.
            load: Loads its modules, which takes a while; any thread.
        """
        self._factories[platform] = factory
        self._lacks[platform] = lacks
        self._loads[platform] = load
        self._checks.pop(platform, None)
        if check is not None:
            self._checks[platform] = check

    def load(self, platforms: Iterable[Platform]) -> None:
        """Load what is needed to make adapters of these platforms. Blocks; not for the loop."""
        for platform in platforms:
            if platform in self._loads and not self.why_not(platform):
                self._loads[platform]()
        forget_sources()

    def why_not(self, platform: Platform) -> str:
        """Why a platform cannot be served here, as a sentence; "" if it can."""
        if platform not in self._factories:
            return NOT_SERVED
        lacks = self._lacks.get(platform)
        return lacks() if lacks is not None else ""

    def check_of(self, platform: Platform) -> PlatformCheck | None:
        """How its settings are tried; None where only connecting an adapter tells."""
        return self._checks.get(platform)

    def __contains__(self, platform: Platform) -> bool:
        return platform in self._factories

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        """A new adapter that is not connected.

        Raises:
            LookupError: This version cannot serve the platform.
        """
        factory = self._factories.get(context.platform)
        if factory is None:
            raise LookupError(f"This version cannot serve {context.platform.value}")
        return factory(config, context)
