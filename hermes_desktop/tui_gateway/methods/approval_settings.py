"""``yolo`` and ``approval_mode`` of ``config.get`` and ``config.set``: approvals in a session."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hermes_desktop.agent.tools.asking.approval_queue import ApprovalQueue
from hermes_desktop.agent.tools.asking.approvals import ApprovalRules
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Call

_ON = frozenset({"1", "on", "true", "yes"})
_OFF = frozenset({"0", "off", "false", "no"})
_ASK = frozenset({"manual", "smart"})


def get_yolo(call: Call) -> dict[str, Any]:
    """Return whether approvals are switched off in a session."""
    free = call.params.has("session_id") and _queue(call).is_free(_key(call))
    return {"value": "1" if free else "0"}


def get_mode(call: Call) -> dict[str, Any]:
    """Return the approval mode: as set for the session, else as in the settings."""
    if call.params.has("session_id") and _queue(call).is_free(_key(call)):
        return {"value": "off", "scope": "session"}
    return {"value": _set_mode(call), "scope": "home"}


def _set_mode(call: Call) -> str:
    """Return the mode in the settings; an invalid one counts as asking."""
    document = call.server.program.settings.document()
    if ApprovalRules.from_mapping(document).mode == "off":
        return "off"
    section = document.get("approvals")
    named = section.get("mode") if isinstance(section, Mapping) else None
    return named if isinstance(named, str) and named in _ASK else "smart"


def set_yolo(call: Call) -> dict[str, Any]:
    """Switch approvals of a session off or on; without a value the state is toggled."""
    word = call.params.optional_text("value").strip().lower()
    if word and word not in _ON | _OFF:
        raise RpcError(Code.BAD_VALUE, "value must be 1 or 0")
    queue, key = _queue(call), _key(call)
    free = word in _ON if word else not queue.is_free(key)
    queue.set_free(key, free=free)
    return {"key": "yolo", "value": "1" if free else "0", "scope": "session"}


def set_mode(call: Call) -> dict[str, Any]:
    """Set the approval mode of a session by the names that the settings use."""
    mode = call.params.text("value").strip().lower()
    if mode not in _ASK | {"off"}:
        raise RpcError(Code.BAD_VALUE, "value must be manual, smart or off")
    if mode != "off" and _set_mode(call) == "off":
        words = "the settings of the home switch asking off: change approvals.mode there"
        raise RpcError(Code.BAD_VALUE, words)
    _queue(call).set_free(_key(call), free=mode == "off")
    return {"key": "approval_mode", "value": mode, "scope": "session"}


WRITERS: Final[Mapping[str, Callable[[Call], dict[str, Any]]]] = {
    "yolo": set_yolo,
    "approval_mode": set_mode,
}


def _key(call: Call) -> str:
    return str(call.session()[1]["session_key"])


def _queue(call: Call) -> ApprovalQueue:
    queue = call.server.program.approvals
    if queue is None:
        raise RpcError(Code.UNKNOWN_KEY, "nothing is asked in this process")
    return queue
