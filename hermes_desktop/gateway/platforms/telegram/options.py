"""Telegram settings besides the token, read from ``platforms.telegram.extra``."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.gateway.access.authorization import as_ids
from hermes_desktop.gateway.config.coercion import as_bool, as_number, as_whole_number
from hermes_desktop.gateway.config.gateway_config import PlatformConfig

log = logging.getLogger(__name__)

API = "https://api.telegram.org/bot"
_SPARE_S, _FETCH_S = 20.0, 300.0
_MOST_BYTES = 20_000_000
"""Telegram's own limit for files that a bot fetches."""


@dataclass(frozen=True, slots=True)
class TelegramOptions:
    """Connection settings for Telegram, and when a group is answered.

    Attributes:
        base_url: Address of the Bot API; the token follows it.
        file_url: Address of its files, likewise.
        proxy: An HTTP proxy; None: as in the environment. May hold a password.
        poll_s: How long the server waits before an empty response.
        silence_s: How long it may be silent.
        require_mention: Groups are answered only where the bot is addressed.
        free_chats: Groups where it always is.
        patterns: Patterns of text that address it, too.
        only_meant: A message that mentions other bots and not this one is not answered.
        chats: The only groups that are served; empty: all.
        topics: The only topics, likewise.
        most_bytes: The largest file that is fetched.
        fetch_s: Time-out of fetching one.
        link_previews: Whether Telegram shows previews of links.
        bots: Which other bots are answered: ``mentions`` only where they address this bot, or
            ``all``. The gateway decides whether any is authorized.
    """

    base_url: str = API
    file_url: str = "https://api.telegram.org/file/bot"
    proxy: str | None = field(default=None, repr=False)
    poll_s: int = 25
    silence_s: float = 45.0
    require_mention: bool = False
    free_chats: frozenset[str] = frozenset()
    patterns: tuple[re.Pattern[str], ...] = ()
    only_meant: bool = False
    chats: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    most_bytes: int = _MOST_BYTES
    fetch_s: float = _FETCH_S
    link_previews: bool = False
    bots: str = "mentions"


def read_options(config: PlatformConfig) -> TelegramOptions:
    """Read the settings; invalid values count as not set."""
    extra = config.extra
    base_url = _text(extra, "base_url") or API
    poll_s = as_whole_number(extra.get("poll_timeout"), default=25, low=1, high=50)
    return TelegramOptions(
        base_url=base_url,
        file_url=_text(extra, "base_file_url") or _file_url(base_url),
        proxy=_text(extra, "proxy") or _text(extra, "proxy_url"),
        poll_s=poll_s,
        silence_s=as_number(extra.get("expected_silence_s"), default=poll_s + _SPARE_S),
        require_mention=as_bool(extra.get("require_mention"), default=False),
        free_chats=as_ids(extra.get("free_response_chats"))
        | as_ids(extra.get("free_response_channels")),
        patterns=_patterns(extra.get("mention_patterns")),
        only_meant=as_bool(extra.get("exclusive_bot_mentions"), default=False),
        chats=as_ids(extra.get("allowed_chats")),
        topics=as_ids(extra.get("allowed_topics")),
        most_bytes=as_whole_number(
            extra.get("max_download_bytes"), default=_MOST_BYTES, low=1, high=2**31
        ),
        fetch_s=as_number(extra.get("download_timeout"), default=_FETCH_S),
        link_previews=as_bool(extra.get("link_previews"), default=False),
        bots=(_text(extra, "allow_bots") or "mentions").lower(),
    )


def _text(extra: Mapping[str, Any], name: str) -> str | None:
    value = extra.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _file_url(base_url: str) -> str:
    """Return the file address of a self-hosted server."""
    before, found, behind = base_url.rpartition("/bot")
    return f"{before}/file/bot{behind}" if found else base_url


def _patterns(value: Any) -> tuple[re.Pattern[str], ...]:
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    found = []
    for pattern in given:
        try:
            found.append(re.compile(str(pattern), re.IGNORECASE))
        except re.error as error:
            log.warning("A pattern of telegram.mention_patterns is not valid: %s", error)
    return tuple(found)
