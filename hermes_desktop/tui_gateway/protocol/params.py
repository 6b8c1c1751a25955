"""Validated access to the parameters of a request; errors name the parameter."""

from collections.abc import Mapping
from typing import Any

from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError


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
