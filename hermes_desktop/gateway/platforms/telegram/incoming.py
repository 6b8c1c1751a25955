"""Parsing of Telegram's raw updates into our records. Unreadable ones are ``other``."""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hermes_desktop.gateway.platforms.telegram.records import Attachment, Incoming, MediaKind, Reply

log = logging.getLogger(__name__)

_AROUND = re.compile(
    r"""(?: message_id|message_thread_id|direct_messages_topic|from|date|chat|edit_date|text|caption
    | entities|caption_entities|quote|via_bot|effect_id|media_group_id|reply_markup|external_reply
    | sender_(?:chat|boost_count|business_bot|tag)|business_connection_id
    | forward_(?:origin|from|from_chat|from_message_id|signature|sender_name|date)
    | reply_to_(?:message|story|checklist_task_id)|is_(?:topic_message|automatic_forward)
    | is_(?:from_offline|paid_post)|has_(?:protected_content|media_spoiler)|author_signature
    | paid_star_count|link_preview_options|suggested_post_info|show_caption_above_media )\Z""",
    re.VERBOSE,
)
"""Fields that accompany every message, whatever its content."""
_EVENT = re.compile(
    r"""new_chat_|left_chat_|delete_chat_|chat_|boost_|users?_shared|connected_website
    | group_chat_|supergroup_chat_|channel_chat_|message_auto_delete|migrate_|pinned_message
    | (?:general_)?forum_topic_|video_chat_|voice_chat_|write_access_|proximity_alert
    | successful_payment|refunded_payment|giveaway_c|suggested_post_|checklist_tasks_
    | (?:paid|direct)_message_price|.*_(?:changed|created|edited|closed|opened)$""",
    re.VERBOSE,
)
"""Fields that report an event in a chat and are not written by a sender."""


def unread_kind(raw: Mapping[str, Any]) -> str:
    """Return a text for an otherwise unreadable message; "" for an event without a sender."""
    found = [key for key, value in raw.items() if value and not _AROUND.match(key)]
    kinds = [key.replace("_", " ") for key in found if not _EVENT.match(key)]
    return f"[Content that cannot be read here: {', '.join(sorted(kinds))}]" if kinds else ""


Raw = Mapping[str, Any]
T = TypeVar("T")
_KINDS: tuple[MediaKind, ...] = ("animation", "document", "voice", "audio", "video", "sticker")
GENERAL_TOPIC = "1"
"""The topic of messages outside any topic, as in ``hermes``. It cannot be addressed by name."""
_CHANNEL_BOTS = frozenset({777000, 136817688})
"""Telegram's own accounts that represent a channel or the channel behind a group."""
_ANONYMOUS_ADMIN = 1087968824
"""Telegram's own account that represents an anonymous group administrator."""
_SOMEBODY, _LONGEST = "somebody", 300
_MIME = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}\Z")
_NO_FILES: tuple[Attachment, ...] = ()
_NONSENSE = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def incoming(update: Raw) -> Incoming:
    """Parse an update.

    Raises:
        KeyError: It has no number.
        ValueError: Likewise.
        TypeError: Likewise.
    """
    update_id = int(update["update_id"])
    try:
        if isinstance(update.get("message"), Mapping):
            return _message(update_id, update["message"])
        if isinstance(update.get("edited_message"), Mapping):
            changed = update["edited_message"]
            edited = str(changed.get("edit_date", ""))
            return replace(_message(update_id, changed), kind="edited", edited=edited)
        if isinstance(update.get("callback_query"), Mapping):
            return _answer(update_id, update["callback_query"])
    except _NONSENSE as error:
        log.warning("An update of Telegram cannot be read: %s", type(error).__name__)
    return Incoming(update_id)


def _message(update_id: int, raw: Raw) -> Incoming:
    chat, sender = raw["chat"], raw.get("from") or {}
    text = _clean(raw.get("text") or raw.get("caption") or "")
    entities = raw.get("entities") or raw.get("caption_entities") or ()
    attachments = _read(_attachments, raw, _NO_FILES)
    extra_text = _clean(_read(_extra_text, raw, ""))
    if not text and not attachments and not extra_text:
        extra_text = unread_kind(raw)
    return Incoming(
        update_id,
        "message",
        chat_id=str(chat["id"]),
        chat_type=str(chat.get("type", "")),
        chat_title=_clean(chat.get("title") or _name(chat)),
        message_id=str(raw["message_id"]),
        thread_id=_topic(raw),
        user_id=str(sender.get("id", "")),
        user_name=_name(sender),
        is_bot=bool(sender.get("is_bot")) and sender.get("id") != _ANONYMOUS_ADMIN,
        text=text,
        mentions=_read(lambda _: _mentions(text, entities), raw, frozenset()),
        reply=_read(_reply, raw, None),
        attachments=attachments,
        album_id=str(raw.get("media_group_id", "")),
        extra_text=extra_text,
        at=float(raw["date"]) if "date" in raw else None,
        from_channel=_is_from_channel(raw, sender),
        forwarded_from=_read(_forwarded_from, raw, _SOMEBODY if "forward_origin" in raw else ""),
        moved_to=str(raw.get("migrate_to_chat_id", "")),
    )


def _read(reader: Callable[[Raw], T], raw: Raw, otherwise: T) -> T:
    """Read a part of a message; an unreadable part does not affect the rest."""
    try:
        return reader(raw)
    except _NONSENSE as error:
        log.warning("A part of a message cannot be read: %s", type(error).__name__)
        return otherwise


def _clean(text: object) -> str:
    """Replace unpaired surrogates in a text, because they cannot be stored."""
    return str(text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_from_channel(raw: Raw, sender: Raw) -> bool:
    """Return whether no human wrote it; administrators may write in the group's own name."""
    if raw.get("is_automatic_forward") or sender.get("id") in _CHANNEL_BOTS:
        return True
    behind = raw.get("sender_chat")
    return behind is not None and behind.get("id") != raw["chat"].get("id")


def _forwarded_from(raw: Raw) -> str:
    """Return the original author of a forwarded message; "" if it was not forwarded."""
    origin = raw.get("forward_origin")
    return _origin_name(origin) if isinstance(origin, Mapping) else ""


def _origin_name(origin: Raw) -> str:
    person = origin.get("sender_user")
    if isinstance(person, Mapping):
        return _name(person) or _SOMEBODY
    chat = origin.get("sender_chat") or origin.get("chat") or {}
    return _clean(origin.get("sender_user_name") or chat.get("title") or _name(chat) or _SOMEBODY)


def _answer(update_id: int, raw: Raw) -> Incoming:
    message, sender = raw.get("message") or {}, raw["from"]
    chat = message["chat"]
    return Incoming(
        update_id,
        "answer",
        chat_id=str(chat["id"]),
        chat_type=str(chat.get("type", "")),
        chat_title=_clean(chat.get("title") or _name(chat)),
        message_id=f"button-{raw['id']}",
        thread_id=_topic(message),
        user_id=str(sender["id"]),
        user_name=_name(sender),
        is_bot=bool(sender.get("is_bot")),
        data=str(raw.get("data", "")),
        query_id=str(raw["id"]),
    )


def _topic(raw: Raw) -> str:
    """Return the topic; a reply thread, which has a thread id as well, is not one."""
    if raw.get("is_topic_message"):
        return str(raw["message_thread_id"])
    return GENERAL_TOPIC if raw["chat"].get("is_forum") else ""


def _name(person: Raw) -> str:
    full = " ".join(str(person[key]) for key in ("first_name", "last_name") if person.get(key))
    return _clean(full or person.get("username") or "")


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
    answered, quote = raw.get("reply_to_message"), (raw.get("quote") or {}).get("text", "")
    if not isinstance(answered, Mapping):
        origin = (raw.get("external_reply") or {}).get("origin")
        if not quote or not isinstance(origin, Mapping):
            return None
        return Reply("", _clean(quote), author_name=_origin_name(origin))
    if "forum_topic_created" in answered:
        return None
    author = answered.get("from") or {}
    words = quote or answered.get("text") or answered.get("caption") or _what_it_was(answered)
    return Reply(
        str(answered["message_id"]), _clean(words), str(author.get("id", "")), _name(author)
    )


def _what_it_was(answered: Raw) -> str:
    """Return a description of a message without text that was replied to."""
    for each in _read(_attachments, answered, _NO_FILES):
        return f"({each.kind}{f': {each.file_name}' if each.file_name else ''})"
    return _read(_extra_text, answered, "")


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
                    _mime(found.get("mime_type")),
                    _size(found),
                    int(seconds) if seconds is not None else None,
                ),
            )
    if isinstance(raw.get("video_note"), Mapping):
        note = raw["video_note"]
        return (Attachment("video", str(note["file_id"]), "", "video/mp4", _size(note)),)
    return ()


def _mime(value: object) -> str:
    """Return a media type; the sender chooses it, so it may be anything."""
    return value if isinstance(value, str) and _MIME.match(value) else ""


def _size(raw: Raw) -> int | None:
    size = raw.get("file_size")
    return int(size) if size is not None else None


def _extra_text(raw: Raw) -> str:
    """Return a text for content that is neither text nor file."""
    if isinstance(raw.get("sticker"), Mapping):
        return f"[A sticker: {_flat(raw['sticker'].get('emoji')) or 'without a sign'}]"
    place = raw.get("venue") or raw.get("location")
    if isinstance(place, Mapping):
        spot = place.get("location") or place
        name = " ".join(_flat(place[key]) for key in ("title", "address") if place.get(key))
        where = f"{_flat(spot.get('latitude'))}, {_flat(spot.get('longitude'))}"
        return f"[A place: {name + ', ' if name else ''}{where}]"
    if isinstance(raw.get("contact"), Mapping):
        person = raw["contact"]
        return f"[A contact: {_flat(_name(person))}, {_flat(person.get('phone_number', ''))}]"
    if isinstance(raw.get("poll"), Mapping):
        options = ", ".join(_flat(each.get("text")) for each in raw["poll"].get("options", ()))
        return f"[A poll: {_flat(raw['poll'].get('question', ''))} ({options})]"
    if isinstance(raw.get("dice"), Mapping):
        return f"[A dice: {_flat(raw['dice'].get('emoji'))} {_flat(raw['dice'].get('value'))}]"
    return ""


def _flat(value: object) -> str:
    """Return sender-provided text so that it cannot imitate text outside its brackets."""
    text = "" if value is None else str(value)
    return " ".join(text.replace("[", "(").replace("]", ")").split())[:_LONGEST]
