"""``reasoning`` and ``fast`` of ``config.get`` and ``config.set``: a session's reasoning and speed.

The choice is stored in the session's ``model_override`` and in its row, if there is one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hermes_desktop.agent.thinking import EFFORT, EFFORTS, TIER, knows_tiers
from hermes_desktop.core.errors import HermesError
from hermes_desktop.tui_gateway import agents
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.thinking_rows import chosen, keep
from hermes_desktop.tui_gateway.turns import alone, tell_info

_SHOW: Final = {"show": True, "hide": False, "full": True, "clamp": True}
_SPEEDS: Final = ("normal", "fast")


def choose(server: Server, sid: str, session: Session, name: str, value: str) -> None:
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
            keep(db, session["session_key"], override)
        session["model_override"] = override
        agents.drop_agent(session)
        agents.choose(server, session)
    tell_info(server, sid, session)


def get_reasoning(call: Call) -> dict[str, Any]:
    """Return the reasoning effort, and whether peers show the reasoning."""
    session = call.session()[1] if call.params.has("session_id") else {}
    choice = call.server.program.agents.choose_model(session.get("model_override") or {})
    value = chosen(session).get(EFFORT) or getattr(choice, "reasoning_effort", "")
    return {"value": value, "display": "show" if session.get("show_reasoning") else "hide"}


def get_fast(call: Call) -> dict[str, Any]:
    """Return whether faster replies are requested from the model."""
    session = call.session()[1] if call.params.has("session_id") else {}
    return {"value": chosen(session).get(TIER, "normal")}


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
        choose(call.server, sid, session, name, value)
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
