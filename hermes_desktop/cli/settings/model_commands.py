"""``models``: the model in use, model servers on this machine, and a test of a model."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.output import Column, as_text
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import (
    CannotReachError,
    HermesError,
    NotConfiguredError,
    NotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.agents.model_servers import (
        ChosenView,
        EndpointAnswer,
        LocalModel,
        LocalServer,
        ModelServers,
        ProviderView,
    )

T = TypeVar("T")

_PROVIDERS = (Column("Provider"), Column("State"), Column("Address", gives_way=True))
_LOCAL = (Column("Server"), Column("Model"), Column("Context"), Column("Note", gives_way=True))
_MOST_PORT = 65_535
_json = click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")


@click.group("models")
def models() -> None:
    """Show the model in use, find model servers, test a model.

    To choose the model, use `hermes-desktop config set model.default NAME`, with model.provider or
    model.base_url if needed.
    """


@models.command("list")
@click.option("--all", "everything", is_flag=True, help="Include providers without a key.")
@_json
@with_home
def list_models(*, everything: bool, as_json: bool, paths: "HermesPaths") -> None:
    """Show the model in use and list providers.

    Lists the fallback models, too, and the providers that you can choose. In a pipe: provider,
    state (key, no key needed, no key, switched off), address.
    """

    async def look(
        servers: "ModelServers",
    ) -> "tuple[tuple[ChosenView, ...], tuple[ProviderView, ...]]":
        return await servers.chosen(), await servers.providers()

    chosen, providers = _run(paths, look)
    shown = [view for view in providers if everything or view.has_key or view.own]
    if as_json:
        lines = [{"kind": "model", **asdict(view)} for view in chosen]
        output.write_json([*lines, *({"kind": "provider", **asdict(view)} for view in shown)])
        return
    for view in chosen:
        output.say(_chosen_words(view))
    output.write(as_text(_PROVIDERS, [(v.name, _standing(v), v.base_url) for v in shown]))


@models.command("local")
@click.option(
    "--port",
    "ports",
    type=click.IntRange(1, _MOST_PORT),
    multiple=True,
    help="Check this port, too; repeatable.",
)
@_json
@with_home
def local(*, ports: tuple[int, ...], as_json: bool, paths: "HermesPaths") -> None:
    """Find model servers on this machine.

    Finds Ollama, LM Studio, llama.cpp and vLLM. Checks their usual ports on 127.0.0.1, for a
    second; nothing else is contacted, and no key is sent. In a pipe: address, model, context
    length, remarks.
    """
    from hermes_desktop.services.agents.model_servers import USUAL_PORTS

    places = (*USUAL_PORTS, *(("", port) for port in ports))
    found = _run(paths, lambda servers: servers.find_local(), places)
    if as_json:
        output.write_json([line for server in found for line in _local_objects(server)])
        return
    if not found:
        usual = ", ".join(str(port) for _, port in places)
        raise NotFoundError(
            "No model server was found on this machine.",
            f"No server responds on the ports {usual}.",
            "Start one (`ollama serve`), add its port with --port, or choose a provider on "
            "the network: `hermes-desktop models list --all` lists them.",
        )
    output.write(as_text(_LOCAL, [row for server in found for row in _local_rows(server)]))
    output.say("To use one: hermes-desktop config set model.default MODEL model.base_url ADDRESS")


@models.command("test")
@click.argument("model", required=False)
@click.option("--provider", help="Use this provider instead of the one in the settings.")
@click.option("--base-url", help="Use this address instead of the one in the settings.")
@_json
@with_home
def test(
    *,
    model: str | None,
    provider: str | None,
    base_url: str | None,
    as_json: bool,
    paths: "HermesPaths",
) -> None:
    """Ask a model one short question.

    Without a name, the model in the settings is used. The key is the one that belongs to the
    address: from the environment, the keyring, .env or config.yaml. The provider charges for a few
    words.
    """
    given = {"model": model, "provider": provider, "base_url": base_url}
    chosen = {name: output.without_surrogates(value) for name, value in given.items() if value}
    if base_url and not provider:
        chosen["provider"] = "custom"
    answer = _run(paths, lambda servers: servers.check_chosen(chosen))
    if as_json:
        output.write_json([asdict(answer)])
    if answer.kind != "ok":
        raise _error(answer)
    if not as_json:
        output.write(output.one_line(answer.words) + "\n")
        if answer.context_length:
            output.write(f"Context window: {answer.context_length:,} tokens.\n")
        if answer.hint:
            output.say(answer.hint)


def _run(
    paths: "HermesPaths",
    ask: "Callable[[ModelServers], Awaitable[T]]",
    ports: tuple[tuple[str, int], ...] | None = None,
) -> T:
    import asyncio

    from hermes_desktop.core.log_setup import SecretRedactor
    from hermes_desktop.services.agents.model_servers import USUAL_PORTS, ModelServers
    from hermes_desktop.services.secrets.secret_access import with_secrets

    async def asked() -> T:
        environ = with_secrets(paths, os.environ, SystemClock())
        servers = ModelServers(paths, environ, SecretRedactor(), ports or USUAL_PORTS)
        try:
            return await ask(servers)
        finally:
            servers.close()

    return asyncio.run(asked())


def _chosen_words(view: "ChosenView") -> str:
    if not view.model:
        return " ".join(part for part in (view.problem, view.hint) if part)
    return f"{view.model} {view.role}, at {view.provider} ({view.base_url}; {view.origin})."


def _standing(view: "ProviderView") -> str:
    if not view.enabled:
        return "switched off"
    if view.problem:
        return view.problem.rstrip(".")
    if not view.has_key:
        return f"no key ({view.key_variable})"
    return "key" if view.key_variable else "no key needed"


def _local_rows(server: "LocalServer") -> list[tuple[str, str, str, str]]:
    if not server.models:
        return [(server.base_url, "", "", f"{server.kind}: {server.problem}")]
    return [
        (server.base_url, model.id, _length(model), f"{server.kind}{_warning(model)}")
        for model in server.models
    ]


def _length(model: "LocalModel") -> str:
    if model.context_length is not None:
        return f"{model.context_length:,}"
    return f"up to {model.could_be:,}" if model.could_be is not None else "unknown"


def _warning(model: "LocalModel") -> str:
    return " (small; 64,000 or more is recommended)" if model.too_small else ""


def _local_objects(server: "LocalServer") -> list[dict[str, Any]]:
    facts = {"server": server.kind, "base_url": server.base_url, "problem": server.problem}
    if not server.models:
        return [facts]
    return [{**facts, **asdict(model)} for model in server.models]


def _error(answer: "EndpointAnswer") -> HermesError:
    kinds = {"unreachable": CannotReachError, "misconfigured": NotConfiguredError}
    return kinds.get(answer.kind, HermesError)(answer.words, "", answer.hint)
