"""Discovery and checks of models: servers on this machine, providers with their keys."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hermes_desktop.agent.known_endpoints import KNOWN
from hermes_desktop.agent.models.model_addresses import clean_address, key_for, key_of
from hermes_desktop.agent.models.model_entries import model_names, own_entries
from hermes_desktop.agent.providers.endpoint_check import EndpointAnswer, check_endpoint
from hermes_desktop.agent.providers.local_servers import (
    USUAL_PORTS,
    LocalModel,
    LocalServer,
    find_servers,
)
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_builder import read_agent_settings
from hermes_desktop.services.secrets.secret_access import redact_secrets
from hermes_desktop.settings.config_file import Lookup, read_config
from hermes_desktop.settings.env_file import layered_lookup, read_env_file

__all__ = [
    "USUAL_PORTS",
    "ChosenView",
    "EndpointAnswer",
    "LocalModel",
    "LocalServer",
    "ModelServers",
    "ProviderView",
]


@dataclass(frozen=True, slots=True)
class ProviderView:
    """A provider that may be chosen. Holds no key.

    Attributes:
        name: The name, as in ``model.provider``.
        base_url: Its address.
        key_variable: The variable that holds its key; "" when it needs none, or the key is stored
            next to the address.
        has_key: Whether a key is available; True for those that need none.
        own: Whether it is a custom entry of the user in config.yaml.
        enabled: False when that entry is switched off.
        models: Names of the models that the entry lists.
        problem: Why it cannot be used, as a sentence; "" when no reason is known.
    """

    name: str
    base_url: str
    key_variable: str = ""
    has_key: bool = True
    own: bool = False
    enabled: bool = True
    models: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChosenView:
    """A model as chosen by the settings. Holds no key.

    Attributes:
        role: ``answers``; ``stands by``; ``not asked``, with the reason in ``problem``.
        origin: The place in the settings that chooses it.
        hint: What to do about a problem.
    """

    role: str
    model: str = ""
    provider: str = ""
    base_url: str = ""
    origin: str = ""
    has_key: bool = False
    problem: str = ""
    hint: str = ""


class ModelServers:
    """Finds and checks models. Called on the loop; files, keyring and network are accessed off it.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it.
        redactor: The log redactor that the keys are registered with.
        ports: The ports on which servers of this machine are searched.
    """

    def __init__(
        self,
        paths: HermesPaths,
        environ: Mapping[str, str],
        redactor: SecretRedactor,
        ports: Sequence[tuple[str, int]] = USUAL_PORTS,
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._redactor = redactor
        self._ports = tuple(ports)
        self._tls = SharedTls(environ=environ)
        # A check may take as long as a model needs to load, and must not block others.
        self._work = WorkerThreads("model-servers", size=4)

    async def find_local(self) -> tuple[LocalServer, ...]:
        """Find the model servers on this machine within a second, by loopback addresses only."""
        return await self._work.run(find_servers, self._ports)

    async def check_endpoint(
        self, base_url: str, api_key: str | None = None, model: str = "", provider: str = ""
    ) -> EndpointAnswer:
        """Ask an endpoint for its models, and a model one short question.

        Cancelling ends it within a fraction of a second. Nothing is stored.

        Args:
            base_url: The address, up to and including its version.
            api_key: The key to try; None for the one that is stored for this address; "" for none.
            model: The model to ask; "" reads the list only.
            provider: Its display name; "" for that of the host.
        """
        cancel = threading.Event()
        check = partial(self._check, base_url, api_key, model, provider, cancel)
        try:
            return await self._work.run(check)
        finally:
            cancel.set()

    async def check_chosen(self, chosen: Mapping[str, str] | None = None) -> EndpointAnswer:
        """Check the model that the settings choose in the same way.

        Args:
            chosen: ``model``, ``provider`` and ``base_url`` that override those of the settings.
        """
        cancel = threading.Event()
        try:
            return await self._work.run(self._check_chosen, dict(chosen or {}), cancel)
        finally:
            cancel.set()

    async def providers(self) -> tuple[ProviderView, ...]:
        """Return the user's custom providers, then those known by name.

        Raises:
            ConfigError: config.yaml or .env cannot be parsed.
        """
        return await self._work.run(self._providers)

    async def chosen(self) -> tuple[ChosenView, ...]:
        """Return the model that answers, then its fallbacks; before them an unusable chosen one."""
        return await self._work.run(self._chosen)

    def close(self) -> None:
        """Stop the worker; never waits."""
        self._work.close()

    # ------------------------------------------------------------------------ on worker threads

    def _lookup(self) -> Lookup:
        redact_secrets(self._environ, self._redactor)
        return layered_lookup(self._environ, read_env_file(self._paths.env_file))

    def _check(
        self,
        base_url: str,
        api_key: str | None,
        model: str,
        provider: str,
        cancel: threading.Event,
    ) -> EndpointAnswer:
        try:
            address = clean_address(base_url, "The address")
            key = key_for(address, self._lookup()) if api_key is None else api_key.strip()
        except HermesError as error:
            return _misconfigured(error)
        name = provider or address.split("/")[2]
        choice = ModelChoice(model.strip(), address, key or None, name, "a trial")
        return check_endpoint(choice, cancel=cancel, redactor=self._redactor, tls=self._tls)

    def _check_chosen(self, chosen: Mapping[str, str], cancel: threading.Event) -> EndpointAnswer:
        try:
            found = read_agent_settings(self._paths, self._environ, self._redactor, chosen)
        except HermesError as error:
            return _misconfigured(error)
        choice = replace(found.choice, max_tokens=None)
        return check_endpoint(choice, cancel=cancel, redactor=self._redactor, tls=self._tls)

    def _chosen(self) -> tuple[ChosenView, ...]:
        try:
            found = read_agent_settings(self._paths, self._environ, self._redactor)
        except HermesError as error:
            words = " ".join(part for part in (error.title, error.detail) if part)
            return (ChosenView("not called", problem=words, hint=error.hint),)
        views = [
            ChosenView(
                "fallback" if place else "answers",
                each.model,
                each.provider,
                each.base_url,
                each.origin,
                each.api_key is not None,
            )
            for place, each in enumerate((found.choice, *found.fallbacks))
        ]
        if found.instead_of:
            views.insert(0, ChosenView("not asked", problem=found.instead_of))
        return tuple(views)

    def _providers(self) -> tuple[ProviderView, ...]:
        lookup = self._lookup()
        data = read_config(self._paths.config_yaml).data
        entries = [(name, entry) for _, name, entry in own_entries(data) if name]
        own = [_own_view(name, entry, lookup) for name, entry in entries if _address(entry)]
        names = {view.name for view in own}
        known = [
            ProviderView(
                each.name,
                each.base_url,
                each.key_variable,
                not each.key_variable or bool(key_of(each, lookup)),
            )
            for each in KNOWN.values()
            if each.name not in names
        ]
        return (*own, *known)


def _own_view(name: str, entry: Mapping[str, Any], lookup: Lookup) -> ProviderView:
    variable = str(entry.get("key_env") or entry.get("api_key_env") or "")
    missing = bool(variable) and not (lookup(variable) or "").strip() and not entry.get("api_key")
    return ProviderView(
        name,
        _address(entry),
        variable,
        has_key=not missing,
        own=True,
        enabled=entry.get("enabled") is not False,
        models=model_names(entry),
        problem=f"{variable} is not set." if missing else "",
    )


def _address(entry: Mapping[str, Any]) -> str:
    return str(next((entry[key] for key in ("base_url", "api", "url") if entry.get(key)), ""))


def _misconfigured(error: HermesError) -> EndpointAnswer:
    words = " ".join(part for part in (error.title, error.detail) if part)
    return EndpointAnswer("misconfigured", words, error.hint)
