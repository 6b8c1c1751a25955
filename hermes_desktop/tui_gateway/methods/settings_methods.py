"""Methods that read the settings, and change them for one session.

A session's reasoning and speed are stored in its ``model_override`` and, if it has one, in its row.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from hermes_desktop.agent.thinking import EFFORT, EFFORTS, TIER, knows_tiers
from hermes_desktop.agent.tools.asking.approvals import ApprovalRules
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.commands.parsing import take_option
from hermes_desktop.core.errors import HermesError
from hermes_desktop.tui_gateway import agents
from hermes_desktop.tui_gateway.methods.conversation_methods import set_folder
from hermes_desktop.tui_gateway.protocol import Code, Params, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.session_record import (
    chosen_thinking,
    folder_of,
    keep_thinking,
    model_of,
)
from hermes_desktop.tui_gateway.turns import alone, tell_info

_SHOW: Final = {"show": True, "hide": False, "full": True, "clamp": True}
_SPEEDS: Final = ("normal", "fast")


def choose_thinking(server: Server, sid: str, session: Session, name: str, value: str) -> None:
    """Choose one setting; "" resets it.

    Raises:
        RpcError: A turn runs.
        HermesError: It cannot be stored; nothing was changed.
    """
    with alone(server, sid, session, "choosing how the model answers"):
        before = session.get("model_override") or {}
        override = {part: word for part, word in {**before, name: value}.items() if word}
        db = server.db()
        if db is not None:
            keep_thinking(db, session["session_key"], override)
        session["model_override"] = override
        agents.drop_agent(session)
        agents.choose(server, session)
    tell_info(server, sid, session)


def get_reasoning(call: Call) -> dict[str, Any]:
    """Return the reasoning effort, and whether peers show the reasoning."""
    session = call.session()[1] if call.params.has("session_id") else {}
    choice = call.server.program.agents.choose_model(session.get("model_override") or {})
    value = chosen_thinking(session).get(EFFORT) or getattr(choice, "reasoning_effort", "")
    return {"value": value, "display": "show" if session.get("show_reasoning") else "hide"}


def get_fast(call: Call) -> dict[str, Any]:
    """Return whether faster replies are requested from the model."""
    session = call.session()[1] if call.params.has("session_id") else {}
    return {"value": chosen_thinking(session).get(TIER, "normal")}


def _set_reasoning(call: Call) -> dict[str, Any]:
    sid, session = call.session()
    word = call.params.text("value").strip().lower()
    if word in _SHOW:
        session["show_reasoning"] = _SHOW[word]
    elif word in EFFORTS or word == "default":
        _chosen_in(call, sid, session, EFFORT, "" if word == "default" else word)
    else:
        raise RpcError(Code.BAD_VALUE, f"value must be one of {', '.join(EFFORTS)}, show or hide")
    return {"key": "reasoning", "value": word, "scope": "session"}


def _set_fast(call: Call) -> dict[str, Any]:
    sid, session = call.session()
    word = call.params.text("value").strip().lower()
    if word not in _SPEEDS:
        raise RpcError(Code.BAD_VALUE, "value must be normal or fast")
    choice = call.server.program.agents.choose_model(session.get("model_override") or {})
    if word == "fast" and not knows_tiers(choice):
        raise RpcError(Code.BAD_VALUE, "fast mode is not available for this model")
    _chosen_in(call, sid, session, TIER, "fast" if word == "fast" else "")
    return {"key": "fast", "value": word, "scope": "session"}


def _chosen_in(call: Call, sid: str, session: Session, name: str, value: str) -> None:
    try:
        choose_thinking(call.server, sid, session, name, value)
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error


READERS: Final[Mapping[str, Callable[[Call], dict[str, Any]]]] = {
    "reasoning": get_reasoning,
    "fast": get_fast,
}
WRITERS: Final[Mapping[str, Callable[[Call], dict[str, Any]]]] = {
    "reasoning": _set_reasoning,
    "fast": _set_fast,
}


BUSY_MODES = ("interrupt", "queue", "steer")
_LATER = frozenset(
    [
        "compact",
        "details_mode",
        "indicator",
        "mouse",
        "personality",
        "prompt",
        "skin",
        "statusbar",
        "thinking_mode",
        "verbose",
    ]
)
_DEFAULT = frozenset({"default", "reset"})
_ON = frozenset({"1", "on", "true", "yes"})
_OFF = frozenset({"0", "off", "false", "no"})
_ASK = frozenset({"manual", "smart"})


def get(call: Call) -> dict[str, Any]:
    """Handle ``config.get``."""
    key = call.params.optional_text("key")
    read = _READERS.get(key)
    if read is None:
        raise _unknown(key)
    try:
        return read(call)
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error


def _unknown(key: str) -> RpcError:
    if key in _LATER:
        return RpcError(Code.UNKNOWN_KEY, f"config key {key} is not in this version")
    return RpcError(Code.UNKNOWN_KEY, f"unknown config key: {key}")


def _session_or_none(call: Call) -> Session | None:
    return call.session()[1] if call.params.has("session_id") else None


def _get_model(call: Call) -> dict[str, Any]:
    session = _session_or_none(call)
    chosen_thinking = (session or {}).get("model_override") or {}
    choice = call.server.program.agents.choose_model(chosen_thinking)
    return {"value": choice.model, "provider": choice.provider, "chosen": bool(chosen_thinking)}


def _get_provider(call: Call) -> dict[str, Any]:
    found = _get_model(call)
    providers = call.server.program.settings.providers()
    return {"model": found["value"], "provider": found["provider"], "providers": list(providers)}


def _get_full(call: Call) -> dict[str, Any]:
    return {"config": dict(call.server.program.settings.document())}


def _get_profile(call: Call) -> dict[str, Any]:
    program = call.server.program
    home = str(program.home)
    return {"home": home, "display": home, "value": program.facts.profile}


def _get_mtime(call: Call) -> dict[str, Any]:
    return {"mtime": call.server.program.settings.mtime()}


def _get_busy(call: Call) -> dict[str, Any]:
    session = _session_or_none(call) or {}
    return {"value": session.get("busy_mode") or call.server.program.settings.busy_mode()}


def _get_folder(call: Call) -> dict[str, Any]:
    return {"value": folder_of(_session_or_none(call) or {})}


def _get_yolo(call: Call) -> dict[str, Any]:
    """Return whether approvals are switched off in a session."""
    free = call.params.has("session_id") and _queue(call).is_free(_key(call))
    return {"value": "1" if free else "0"}


def _get_mode(call: Call) -> dict[str, Any]:
    """Return the approval mode: as set for the session, else as in the settings."""
    if call.params.has("session_id") and _queue(call).is_free(_key(call)):
        return {"value": "off", "scope": "session"}
    return {"value": _mode_in_settings(call), "scope": "home"}


def _mode_in_settings(call: Call) -> str:
    """Return the mode in the settings; an invalid one counts as asking."""
    document = call.server.program.settings.document()
    if ApprovalRules.from_mapping(document).mode == "off":
        return "off"
    section = document.get("approvals")
    named = section.get("mode") if isinstance(section, Mapping) else None
    return named if isinstance(named, str) and named in _ASK else "smart"


def _set_yolo(call: Call) -> dict[str, Any]:
    """Switch approvals of a session off or on; without a value the state is toggled."""
    word = call.params.optional_text("value").strip().lower()
    if word and word not in _ON | _OFF:
        raise RpcError(Code.BAD_VALUE, "value must be 1 or 0")
    queue, key = _queue(call), _key(call)
    free = word in _ON if word else not queue.is_free(key)
    queue.set_free(key, free=free)
    return {"key": "yolo", "value": "1" if free else "0", "scope": "session"}


def _set_mode(call: Call) -> dict[str, Any]:
    """Set the approval mode of a session by the names that the settings use."""
    mode = call.params.text("value").strip().lower()
    if mode not in _ASK | {"off"}:
        raise RpcError(Code.BAD_VALUE, "value must be manual, smart or off")
    if mode != "off" and _mode_in_settings(call) == "off":
        words = "approvals are off in the settings of this home: change approvals.mode there"
        raise RpcError(Code.BAD_VALUE, words)
    _queue(call).set_free(_key(call), free=mode == "off")
    return {"key": "approval_mode", "value": mode, "scope": "session"}


def _key(call: Call) -> str:
    return str(call.session()[1]["session_key"])


def _queue(call: Call) -> RequestQueue:
    queue = call.server.program.requests
    if queue is None:
        raise RpcError(Code.UNKNOWN_KEY, "this process does not ask for approval")
    return queue


_READERS: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    "model": _get_model,
    "provider": _get_provider,
    "full": _get_full,
    "profile": _get_profile,
    "mtime": _get_mtime,
    "busy": _get_busy,
    "cwd": _get_folder,
    **READERS,
    "yolo": _get_yolo,
    "approval_mode": _get_mode,
}
_WRITERS: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    **WRITERS,
    "yolo": _set_yolo,
    "approval_mode": _set_mode,
}


def set_(call: Call) -> dict[str, Any]:
    """Handle ``config.set``: for one live session; the files of the home are not written."""
    key = call.params.optional_text("key")
    writer = _WRITERS.get(key)
    if writer is None and key not in {"model", "busy", "cwd"}:
        raise _unknown(key)
    if not call.params.has("session_id"):
        raise RpcError(
            Code.GENERIC, f"config.set {key} without a session_id is not in this version"
        )
    sid, session = call.session()
    if writer is not None:
        return writer(call)
    value = call.params.text("value")
    if key == "cwd":
        return _set_folder(call, value)
    if key == "busy":
        return _set_busy(session, value)
    return _set_model(call, sid, session, value)


def _set_folder(call: Call, value: str) -> dict[str, Any]:
    wanted = Params({"session_id": call.params.raw("session_id"), "cwd": value})
    told = set_folder(replace(call, params=wanted))
    return {"key": "cwd", "value": told["cwd"], "scope": "session"}


def _set_busy(session: Session, value: str) -> dict[str, Any]:
    mode = value.strip().lower()
    if mode not in BUSY_MODES:
        raise RpcError(Code.UNKNOWN_KEY, f"unknown busy mode: {value}")
    session["busy_mode"] = mode
    return {"key": "busy", "value": mode, "scope": "session"}


def _set_model(call: Call, sid: str, session: Session, value: str) -> dict[str, Any]:
    provider, name = take_option(value.strip(), "--provider")
    provider = provider or call.params.optional_text("provider")
    if not name or " " in name:
        raise RpcError(Code.BAD_VALUE, "value must be the name of a model")
    named = {} if name in _DEFAULT and not provider else {"model": name, "provider": provider}
    override = {part: text for part, text in named.items() if text}
    choose_model(call.server, sid, session, override)
    return {
        "key": "model",
        "value": model_of(session),
        "provider": session.get("provider_name", ""),
        "scope": "session",
        "confirm_required": False,
    }


def choose_model(server: Server, sid: str, session: Session, override: Mapping[str, str]) -> None:
    """Choose the model from the next prompt on; an empty mapping resets the choice.

    The reasoning settings are kept.

    Raises:
        RpcError: A turn runs, or the settings know no such provider; nothing was changed then.
    """
    with alone(server, sid, session, "choosing another model"):
        try:
            server.program.agents.choose_model(override)
        except HermesError as error:
            raise in_protocol(error, Code.BAD_VALUE) from error
        session["model_override"] = {**override, **chosen_thinking(session)}
        agents.drop_agent(session)
        agents.choose(server, session)
    tell_info(server, sid, session)


def show(call: Call) -> dict[str, Any]:
    """Handle ``config.show``: return the relevant settings as text."""
    program = call.server.program
    try:
        choice = program.agents.choose_model({})
        model = [
            ["Model", choice.model],
            ["Provider", choice.provider],
            ["Base URL", choice.base_url],
            ["API Key", "(set)" if choice.api_key else "(not set)"],
        ]
    except HermesError as error:
        model = [["Model", "(not set)"], ["Why", str(error)]]
    try:
        busy = program.settings.busy_mode()
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    home = [
        ["Profile", program.facts.profile],
        ["Home", str(program.home)],
        ["Message while busy", busy],
    ]
    return {"sections": [{"title": "Model", "rows": model}, {"title": "Environment", "rows": home}]}


def model_options(call: Call) -> dict[str, Any]:
    """Handle ``model.options``: the providers in the settings, without network access."""
    session = _session_or_none(call) or {}
    try:
        providers = [dict(each) for each in call.server.program.settings.providers()]
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    model, provider, warning = _present(call, session)
    for each in providers:
        each["models"] = list(each["models"])
        if model and each["slug"] == provider and model not in each["models"]:
            each["models"].append(model)
        each["is_current"] = each["slug"] == provider
        each["total_models"] = len(each["models"])
    return {"providers": providers, "model": model, "provider": provider, "warning": warning}


def _present(call: Call, session: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return model and provider that would answer, and why there are none."""
    try:
        chosen_thinking = session.get("model_override") or {}
        choice = call.server.program.agents.choose_model(chosen_thinking)
    except HermesError as error:
        return "", "", str(error)
    return choice.model, choice.provider, ""


def setup_status(call: Call) -> dict[str, Any]:
    """Handle ``setup.status``: whether a model is configured, and if not why."""
    try:
        choice = call.server.program.agents.choose_model({})
    except HermesError as error:
        parts = {"title": error.title, "detail": error.detail, "hint": error.hint}
        return {"provider_configured": False, **parts}
    return {"provider_configured": True, "model": choice.model, "provider": choice.provider}
