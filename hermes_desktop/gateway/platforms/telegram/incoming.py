"""An update as Telegram sends it, as a record of ours. What makes no sense is ``other``."""

import logging
from collections.abc import Mapping
from typing import Any

from hermes_desktop.gateway.platforms.telegram.records import (
    Attachment,
    Incoming,
    MediaKind,
    Reply,
)

log = logging.getLogger(__name__)

Raw = Mapping[str, Any]
_KINDS: tuple[MediaKind, ...] = ("animation", "document", "voice", "audio", "video", "sticker")
GENERAL_TOPIC = "1"
"""The topic of what is in none; ``hermes`` calls it so, too. Nothing can be sent to it by name."""
_CHANNEL_BOTS = frozenset({777000, 136817688})
"""Telegram's own accounts that stand for a channel or for the channel behind a group."""


def incoming(update: Raw) -> Incoming:
    """Read an update.

    Raises:
        KeyError: It has no number.
    """
    update_id = int(update["update_id"])
    try:
        if isinstance(update.get("message"), Mapping):
            return _message(update_id, update["message"])
        if isinstance(update.get("callback_query"), Mapping):
            return _answer(update_id, update["callback_query"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        log.warning("An update of Telegram cannot be read: %s", type(error).__name__)
    return Incoming(update_id)


def _message(update_id: int, raw: Raw) -> Incoming:
    chat, sender = raw["chat"], raw.get("from") or {}
    text = raw.get("text") or raw.get("caption") or ""
    entities = raw.get("entities") or raw.get("caption_entities") or ()
    from_channel = (
        "sender_chat" in raw
        or bool(raw.get("is_automatic_forward"))
        or sender.get("id") in _CHANNEL_BOTS
    )
    return Incoming(
        update_id,
        "message",
        chat_id=str(chat["id"]),
        chat_type=str(chat.get("type", "")),
        chat_title=chat.get("title") or _name(chat),
        message_id=str(raw["message_id"]),
        thread_id=_topic(raw),
        user_id=str(sender.get("id", "")),
        user_name=_name(sender),
        is_bot=bool(sender.get("is_bot")),
        text=text,
        mentions=_mentions(text, entities),
        reply=_reply(raw),
        attachments=_attachments(raw),
        album_id=str(raw.get("media_group_id", "")),
        extra_text=_extra_text(raw),
        at=float(raw["date"]) if "date" in raw else None,
        from_channel=from_channel,
        moved_to=str(raw.get("migrate_to_chat_id", "")),
    )


def _answer(update_id: int, raw: Raw) -> Incoming:
    message, sender = raw.get("message") or {}, raw["from"]
    chat = message["chat"]
    return Incoming(
        update_id,
        "answer",
        chat_id=str(chat["id"]),
        chat_type=str(chat.get("type", "")),
        chat_title=chat.get("title") or _name(chat),
        message_id=f"button-{raw['id']}",
        thread_id=_topic(message),
        user_id=str(sender["id"]),
        user_name=_name(sender),
        is_bot=bool(sender.get("is_bot")),
        data=str(raw.get("data", "")),
        query_id=str(raw["id"]),
    )


def _topic(raw: Raw) -> str:
    """The topic; a chain of answers, which has a thread id as well, is none."""
    if raw.get("is_topic_message"):
        return str(raw["message_thread_id"])
    return GENERAL_TOPIC if raw["chat"].get("is_forum") else ""


def _name(person: Raw) -> str:
    full = " ".join(str(person[key]) for key in ("first_name", "last_name") if person.get(key))
    return full or str(person.get("username") or "")


def _mentions(text: str, entities: Any) -> frozenset[str]:
    found = set()
    for entity in entities:
        kind = entity.get("type")
        if kind == "text_mention":
            found.add(str(entity["user"]["id"]))
        elif kind in {"mention", "bot_command"}:
            start, end = int(entity["offset"]), int(entity["offset"]) + int(entity["length"])
            word = text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "replace")
            name = word.rpartition("@")[2] if "@" in word else ""
            if name:
                found.add(name.lower())
    return frozenset(found)


def _reply(raw: Raw) -> Reply | None:
    answered = raw.get("reply_to_message")
    if not isinstance(answered, Mapping) or "forum_topic_created" in answered:
        return None
    author = answered.get("from") or {}
    quote = (raw.get("quote") or {}).get("text", "")
    return Reply(
        str(answered["message_id"]),
        str(quote or answered.get("text") or answered.get("caption") or ""),
        str(author.get("id", "")),
        _name(author),
    )


def _attachments(raw: Raw) -> tuple[Attachment, ...]:
    if raw.get("photo"):
        best = max(raw["photo"], key=lambda each: each.get("width", 0) * each.get("height", 0))
        return (Attachment("photo", str(best["file_id"]), "", "image/jpeg", _size(best)),)
    for kind in _KINDS:
        found = raw.get(kind)
        if isinstance(found, Mapping):
            seconds = found.get("duration")
            return (
                Attachment(
                    kind,
                    str(found["file_id"]),
                    str(found.get("file_name") or ""),
                    str(found.get("mime_type") or ""),
                    _size(found),
                    int(seconds) if seconds is not None else None,
                ),
            )
    if isinstance(raw.get("video_note"), Mapping):
        note = raw["video_note"]
        return (Attachment("video", str(note["file_id"]), "", "video/mp4", _size(note)),)
    return ()


def _size(raw: Raw) -> int | None:
    size = raw.get("file_size")
    return int(size) if size is not None else None


def _extra_text(raw: Raw) -> str:
    """Words for what is neither a text nor a file."""
    if isinstance(raw.get("sticker"), Mapping):
        return f"[A sticker: {raw['sticker'].get('emoji') or 'without a sign'}]"
    place = raw.get("venue") or raw.get("location")
    if isinstance(place, Mapping):
        spot = place.get("location") or place
        name = " ".join(str(place[key]) for key in ("title", "address") if place.get(key))
        where = f"{spot.get('latitude')}, {spot.get('longitude')}"
        return f"[A place: {name + ', ' if name else ''}{where}]"
    if isinstance(raw.get("contact"), Mapping):
        return f"[A contact: {_name(raw['contact'])}, {raw['contact'].get('phone_number', '')}]"
    if isinstance(raw.get("poll"), Mapping):
        options = ", ".join(str(each.get("text")) for each in raw["poll"].get("options", ()))
        return f"[A poll: {raw['poll'].get('question', '')} ({options})]"
    if isinstance(raw.get("dice"), Mapping):
        return f"[A dice: {raw['dice'].get('emoji', '')} {raw['dice'].get('value', '')}]"
    return ""
