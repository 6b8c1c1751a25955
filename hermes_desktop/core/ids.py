"""Identifiers: session ids in the format of the shared database, and our own turn ids."""

import re
import secrets
from datetime import datetime
from typing import NewType

TurnId = NewType("TurnId", str)

_UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f]|\.\.|^[A-Za-z]:")


def new_session_id(now: datetime, *, hex_digits: int = 6) -> str:
    """Create an id ``YYYYMMDD_HHMMSS_<hex>`` from local time.

    Args:
        now: Local time without a zone.
        hex_digits: 6 for conversations started by the user, 8 for chats of the gateway.
    """
    return f"{now:%Y%m%d_%H%M%S}_{secrets.token_hex((hex_digits + 1) // 2)[:hex_digits]}"


def new_turn_id() -> TurnId:
    """Create an id for one turn, unique across processes."""
    return TurnId(secrets.token_hex(8))


def is_safe_session_id(value: str) -> bool:
    """Return whether an id can never name a path outside its folder."""
    return bool(value) and not _UNSAFE.search(value)
