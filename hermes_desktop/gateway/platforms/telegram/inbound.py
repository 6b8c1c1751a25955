"""Conversion of updates into messages of the gateway, and selection of those for this bot."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict

from hermes_desktop.commands.registry import resolve_command
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.messages import MessageEvent, MessageType
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions
from hermes_desktop.gateway.platforms.telegram.records import Attachment, Bot, Incoming
from hermes_desktop.gateway.sessions.session_records import SessionSource

_NAME = 64
FILES, ANSWERS, QUERY = "telegram_files", "answers", "telegram_query"
BUTTON = "answer"

_TYPES = {
    "photo": MessageType.PHOTO,
    "document": MessageType.DOCUMENT,
    "voice": MessageType.VOICE,
    "audio": MessageType.AUDIO,
    "video": MessageType.VIDEO,
    "animation": MessageType.VIDEO,
    "sticker": MessageType.STICKER,
}
_GREETING = re.compile(r"/start(?:@\w+)?(?:\s|\Z)")
"""Text that an app sends when a user opens the chat for the first time."""
_COMMAND = re.compile(r"/([A-Za-z0-9_]+)(?:@([A-Za-z0-9_]+))?")


def message_event(
    group: Sequence[Incoming], bot: Bot, options: TelegramOptions
) -> MessageEvent | None:
    """Return the message that updates form; None: it is not for this bot.

    Args:
        group: One update, or several that belong together.
        bot: The identity of this bot.
        options: When a group is answered.
    """
    first = group[0]
    if first.kind in {"other", "edited"} or first.from_channel or not first.user_id:
        return None
    if first.chat_type not in {"private", "group", "supergroup"} or first.user_id == str(bot.id):
        return None
    if first.kind == "answer":
        return _answer(first)
    words = "\n".join(each.text for each in group if each.text)
    files = [found for each in group for found in each.attachments]
    if not words and not files and not first.extra_text:
        return None
    spoken = next((each for each in group if each.text), first)
    if not _is_for_us(spoken, bot, options):
        return None
    text = "\n".join(part for part in (_without_name(words, bot), first.extra_text) if part)
    if first.forwarded_from:  # text of other senders, not a command to us
        text = f"[Forwarded from {_one_line(first.forwarded_from)}]\n{text}".rstrip()
    elif _GREETING.match(text):
        text = "/help"
    reply = first.reply
    return MessageEvent(
        text,
        _type(text, files),
        source=_source(first),
        message_id=first.message_id,
        platform_update_id=first.update_id,
        reply_to_message_id=(reply.message_id or None) if reply else None,
        reply_to_text=(reply.text or None) if reply else None,
        reply_to_author_id=(reply.author_id or None) if reply else None,
        reply_to_author_name=(reply.author_name or None) if reply else None,
        reply_to_is_own_message=reply is not None and reply.author_id == str(bot.id),
        metadata={FILES: json.dumps([asdict(each) for each in files])} if files else {},
        timestamp=first.at,
    )


def files_of(event: MessageEvent) -> list[Attachment]:
    """Return the attachments of a message, as stored by :func:`message_event`."""
    return [Attachment(**each) for each in json.loads(event.metadata.get(FILES, "[]"))]


def button_data(question_id: str, word: str) -> str:
    """Return the data of a button, in at most 64 bytes."""
    return f"{BUTTON}:{question_id}:{word}"[:64]


def _answer(update: Incoming) -> MessageEvent | None:
    parts = update.data.split(":")
    if len(parts) != 3 or parts[0] != BUTTON:  # noqa: PLR2004 - as button_data makes it
        return None
    return MessageEvent(
        parts[2],
        source=_source(update),
        message_id=update.message_id,
        platform_update_id=update.update_id,
        metadata={ANSWERS: parts[1], QUERY: update.query_id},
    )


def _source(update: Incoming) -> SessionSource:
    return SessionSource(
        Platform.TELEGRAM,
        update.chat_id,
        chat_name=update.chat_title or None,
        chat_type="dm" if update.chat_type == "private" else "group",
        user_id=update.user_id,
        user_name=update.user_name or None,
        thread_id=update.thread_id or None,
        is_bot=update.is_bot,
        message_id=update.message_id,
    )


def _is_for_us(update: Incoming, bot: Bot, options: TelegramOptions) -> bool:
    command = None if update.forwarded_from else _COMMAND.match(update.text)
    ours = {bot.username.lower(), str(bot.id)} - {""}
    if command is not None and command[2] and command[2].lower() not in ours:
        return False
    if update.chat_type == "private":
        return True
    if (options.chats and update.chat_id not in options.chats) or (
        options.topics and update.thread_id not in options.topics
    ):
        return False
    is_meant = bool(update.mentions & ours)
    others_only = any(name.endswith("bot") for name in update.mentions) and not is_meant
    if options.only_meant and others_only:
        return False
    bots_too = not update.is_bot or options.bots == "all"
    if bots_too and (not options.require_mention or {update.chat_id, "*"} & options.free_chats):
        return True
    return (
        is_meant
        or (update.reply is not None and update.reply.author_id == str(bot.id))
        or (command is not None and resolve_command(command[1].lower()) is not None)
        or any(pattern.search(update.text) for pattern in options.patterns)
    )


def _without_name(text: str, bot: Bot) -> str:
    """Return a text without our own name, which the sender used to address the bot."""
    if not bot.username or text.startswith("/"):
        return text
    pattern = rf"(?<![\w@])@{re.escape(bot.username)}\b[,:]?[ \t]*"
    return re.sub(pattern, "", text, flags=re.IGNORECASE).strip() or text


def _one_line(name: str) -> str:
    """Return a name on one line, so that it cannot imitate more than a name."""
    return " ".join(name.replace("[", "(").replace("]", ")").split())[:_NAME]


def _type(text: str, files: Sequence[Attachment]) -> MessageType:
    if text.startswith("/"):
        return MessageType.COMMAND
    return _TYPES[files[0].kind] if files else MessageType.TEXT
