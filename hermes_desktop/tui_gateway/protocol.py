"""The JSON-RPC protocol: frames, parameters of requests, and error codes that clients know."""

import json
import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NoReturn

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.records.content_codec import clean_text


class Code(IntEnum):
    """Error codes of the protocol."""

    PARSE = -32700
    BAD_REQUEST = -32600
    UNKNOWN_METHOD = -32601
    BAD_PARAMS = -32602
    CRASH = -32000
    NOT_LIVE = 4001
    UNKNOWN_KEY = 4002
    BAD_VALUE = 4004
    ID_REQUIRED = 4006
    NOT_STORED = 4007
    NOTHING_TO_BRANCH = 4008
    BUSY = 4009
    UNKNOWN_COMMAND = 4011
    FOLDER_REQUIRED = 4016
    NO_SUCH_FOLDER = 4017
    STALE = 4018
    TITLE_REQUIRED = 4021
    TITLE_REJECTED = 4022
    STILL_OPEN = 4023
    TOO_MANY = 4090
    GENERIC = 5000
    COMPRESS = 5005
    LIST = 5006
    TITLE = 5007
    BRANCH = 5008
    SAVE = 5011
    HOST = 5019
    AGENT = 5032
    DELETE = 5036


class RpcError(Exception):
    """A request that is answered with an error.

    Args:
        code: The kind of error.
        message: A description for the user.
        data: Details for programs; None for none.
    """

    def __init__(self, code: Code, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def in_protocol(error: HermesError, code: Code) -> RpcError:
    """Convert an error that the user can act on; its parts are stored in ``data``."""
    parts = {"title": error.title, "detail": error.detail, "hint": error.hint}
    return RpcError(code, str(error), {name: text for name, text in parts.items() if text})


class Params:
    """Parameters by name.

    Args:
        values: The raw values.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def has(self, name: str) -> bool:
        """Return whether it was given, and not as null."""
        return self._values.get(name) is not None

    def raw(self, name: str) -> Any:
        """Return the raw value, None if there is none."""
        return self._values.get(name)

    def text(self, name: str, *, missing: Code = Code.BAD_VALUE) -> str:
        """Return a non-blank text, without unpaired surrogates.

        Raises:
            RpcError: It is missing or blank (with the code ``missing``), or not a text.
        """
        found = self.optional_text(name)
        if not found.strip():
            raise RpcError(missing, f"{name} required")
        return found

    def optional_text(self, name: str) -> str:
        """Return a text, "" if there is none.

        Raises:
            RpcError: It is not a text.
        """
        value = self._values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise RpcError(Code.BAD_VALUE, f"{name} must be a string")
        return clean_text(value)

    def flag(self, name: str) -> bool:
        """Return a boolean, False if it is missing.

        Raises:
            RpcError: It is not a boolean.
        """
        value = self._values.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise RpcError(Code.BAD_VALUE, f"{name} must be true or false")

    def number(self, name: str, *, default: int, low: int, high: int) -> int:
        """Return a whole number, clamped to the bounds.

        Raises:
            RpcError: It is not a whole number.
        """
        found = self.optional_number(name)
        return default if found is None else max(low, min(high, found))

    def optional_number(self, name: str) -> int | None:
        """Return a whole number, None if there is none.

        Raises:
            RpcError: It is not a whole number.
        """
        value = self._values.get(name)
        if value is None:
            return None
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            raise RpcError(Code.BAD_VALUE, f"{name} must be an integer")
        return int(value)


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
        raise RpcError(Code.PARSE, "parse error: the line is not JSON") from None


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
