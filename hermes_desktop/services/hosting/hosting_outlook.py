"""Checks that run before a home is claimed and find whatever prevents hosting it.

Blocking: not for use on the event loop.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hermes_desktop.core.errors import ConfigError, RefusedError
from hermes_desktop.core.events import HostingRefusal
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.access.authorization import refuse_open_policies
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.scheduled_work import ScheduledWork
from hermes_desktop.gateway.platforms.registry import AdapterRegistry
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway, NotHere
from hermes_desktop.gateway.status import read_foreign_gateway
from hermes_desktop.services.hosting import hosting_words
from hermes_desktop.services.hosting.undone_work import read_work
from hermes_desktop.services.settings.gateway_settings import live_lookup, load_gateway_config
from hermes_desktop.settings.safe_replacement import is_managed
from hermes_desktop.state.records.records import StoreCondition


@dataclass(frozen=True, slots=True)
class StartCheckResult:
    """The result of the checks before a start.

    Attributes:
        loaded: The freshly read settings with their warnings.
        refusal: Why the gateway should not, or cannot, be hosted; None when there is no objection.
        other: The gateway that already runs; when there is one, nothing else matters.
    """

    loaded: LoadedGatewayConfig
    refusal: HostingRefusal | None = None
    other: ForeignGateway | None = None


class StartChecks:
    """Performs the checks before a start.

    Args:
        paths: The home.
        environ: The process environment.
        redactor: The log redactor that the tokens are registered with.
        registry: Determines which platforms can be served.
        checks: Sandbox, operating system and service checks.
        condition: Checks whether the conversations may be written. Blocking.
    """

    def __init__(
        self,
        paths: HermesPaths,
        environ: Mapping[str, str],
        redactor: SecretRedactor,
        registry: AdapterRegistry,
        checks: HostingChecks,
        condition: Callable[[], StoreCondition],
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._redactor = redactor
        self._registry = registry
        self._checks = checks
        self._condition = condition

    def look(self) -> StartCheckResult:
        """Read everything again and return the result."""
        loaded = load_gateway_config(self._paths, self._environ, self._redactor)
        return StartCheckResult(loaded, self._refusal(loaded.config), self._other())

    def not_ours(self) -> HostingRefusal | None:
        """Return why this home may no longer be hosted by this program, or None. Blocking.

        Raises:
            StateError: The condition cannot be determined now.
            BusyError: The same, because another program keeps the file locked.
        """
        home = self._condition().home
        if home.may_write:
            return None
        answer = NotHere("not_ours", f"{home.title} {home.reason}")
        return hosting_words.refusal_for(answer)

    def _other(self) -> ForeignGateway | None:
        found = read_foreign_gateway(self._paths.home)
        ours = found is not None and found.was_started_by(os.getpid())
        return None if ours else found

    def _refusal(self, config: GatewayConfig) -> HostingRefusal | None:
        """Return the first objection; those that cannot be overridden come first."""
        return self._obstacle(config) or self._in_the_way(config)

    def _obstacle(self, config: GatewayConfig) -> HostingRefusal | None:
        impossible = self._checks.refusal(self._paths, None)
        if impossible is not None:
            return hosting_words.refusal_for(impossible)
        if not os.access(self._paths.home, os.W_OK | os.X_OK):
            return hosting_words.read_only_refusal(self._paths.home)
        condition = self._condition()
        if not condition.writable:
            return hosting_words.unwritable_refusal(condition)
        try:
            refuse_open_policies(config, live_lookup(self._paths, self._environ)())
        except (ConfigError, RefusedError) as error:
            return HostingRefusal(error.title, error.detail, error.hint)
        return None

    def _in_the_way(self, config: GatewayConfig) -> HostingRefusal | None:
        missed = self._missed(config)
        service = self._checks.refusal(self._paths, self._checks.service(self._paths))
        if service is not None:
            return hosting_words.refusal_for(service, missed)
        if self._is_managed():
            return hosting_words.managed_refusal(missed)
        return hosting_words.promise_refusal(missed) if missed else None

    def _missed(self, config: GatewayConfig) -> tuple[str, ...]:
        reasons = {p: self._registry.why_not(p) for p in config.get_connected_platforms()}
        unserved = {platform: why for platform, why in reasons.items() if why}
        return hosting_words.would_not_run(self._scheduled(), unserved)

    def _scheduled(self) -> ScheduledWork:
        try:
            return read_work(self._paths)
        except BlockingIOError:
            return ScheduledWork()  # checked again as soon as the gateway runs

    def _is_managed(self) -> bool:
        return bool(is_managed(self._paths.home, self._environ))
