"""Frames of the protocol: construction, encoding, decoding and validation."""

import json
import math
from typing import Any, NoReturn

from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError

Frame = dict[str, Any]
_BOM = "\ufeff"


def response(request_id: Any, result: Any) -> Frame:
    """Return the response to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure(request_id: Any, error: RpcError) -> Frame:
    """Return the response to a request that failed."""
    body: Frame = {"code": int(error.code), "message": error.message}
    if error.data:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def event(kind: str, session_id: str | None, payload: Any = None) -> Frame:
    """Return an unsolicited event."""
    params: Frame = {"type": kind}
    if session_id:
        params["session_id"] = session_id
    if payload is not None:
        params["payload"] = payload
    return {"jsonrpc": "2.0", "method": "event", "params": params}


def ready(version: str, profile: str) -> Frame:
    """Return the first frame that every peer gets."""
    told = {"skin": {"name": "default"}, "version": version, "profile": profile}
    return event("gateway.ready", None, told)


def encode(frame: Frame) -> bytes:
    """Encode a frame as a line. What cannot be sent as UTF-8 becomes a question mark."""
    text = json.dumps(frame, ensure_ascii=False, default=str, separators=(", ", ": "))
    return text.encode("utf-8", "replace") + b"\n"


def decode(line: bytes) -> Any:
    """Decode a line.

    Raises:
        RpcError: It is not JSON.
    """
    try:
        return json.loads(line.decode("utf-8").removeprefix(_BOM), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise RpcError(Code.PARSE, "parse error: the line is no JSON") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and the infinities are not JSON


def id_of(request: Any) -> Any:
    """Return the id for the response to a request, None where it has no valid one."""
    found = request.get("id") if isinstance(request, dict) else None
    # E.g. 1e400, which cannot be encoded again.
    if isinstance(found, float) and not math.isfinite(found):
        return None
    return found if isinstance(found, str | int | float) and not isinstance(found, bool) else None


def is_notification(request: Any) -> bool:
    """Return whether no response is expected: a valid request that has no id."""
    if not isinstance(request, dict) or "id" in request:
        return False
    try:
        checked(request)
    except RpcError as error:
        return error.code is not Code.BAD_REQUEST
    return True


def checked(request: Any) -> tuple[str, Frame]:
    """Return name and parameters of a request.

    Raises:
        RpcError: It is not a valid request.
    """
    if not isinstance(request, dict):
        raise RpcError(Code.BAD_REQUEST, "invalid request: expected an object")
    if "id" in request and request["id"] is not None and id_of(request) is None:
        raise RpcError(Code.BAD_REQUEST, "invalid request: id must be a string or a number")
    method = request.get("method")
    if not isinstance(method, str) or not method:
        raise RpcError(Code.BAD_REQUEST, "invalid request: method must be a non-empty string")
    params = request.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise RpcError(Code.BAD_PARAMS, "invalid params: expected an object")
    return method, params
