"""Errors of the protocol, with the codes that front ends know."""

from enum import IntEnum
from typing import Any

from hermes_desktop.core.errors import HermesError


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
