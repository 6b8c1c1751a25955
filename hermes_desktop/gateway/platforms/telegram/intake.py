"""Conversion of updates with the state it needs: edited texts, replies to bots."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from hermes_desktop.gateway.platforms.messages import MessageEvent
from hermes_desktop.gateway.platforms.telegram.inbound import message_event
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions
from hermes_desktop.gateway.platforms.telegram.records import Bot, Incoming

log = logging.getLogger(__name__)

_TEXTS_KEPT = 500
_QUOTED = 200


class EditHistory:
    """Remembers the latest texts, because Telegram also reports edits without a change."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[str, str], str] = OrderedDict()

    def remember(self, update: Incoming) -> None:
        """Remember an accepted message."""
        if update.kind == "message":
            self._said[update.chat_id, update.message_id] = update.text
            if len(self._said) > _TEXTS_KEPT:
                self._said.popitem(last=False)

    def changed(self, update: Incoming) -> Incoming | None:
        """Return an edit as a new message; None: its text is unchanged or it was not for us."""
        name = (update.chat_id, update.message_id)
        before = self._said.get(name)
        if before is None or not update.text or update.text == before:
            return None
        self._said[name] = update.text
        quoted = " ".join(before.replace("[", "(").replace("]", ")").split())
        if len(quoted) > _QUOTED:
            quoted = quoted[: _QUOTED - 1] + "…"
        what = f"I have changed my message “{quoted}”. Now"
        if not quoted:
            what = "I have added words to what I sent. Now"
        return replace(
            update,
            kind="message",
            message_id=f"{update.message_id}-{update.edited}",
            text=f"[{what} it says:]\n{update.text}",
            attachments=(),
            album_id="",
        )


_MOST_BOT_REPLIES = 10
_MOST_CHATS = 500


class BotReplyLimit:
    """Counts the replies to other bots in a chat since a human wrote there."""

    def __init__(self) -> None:
        self._answered: dict[str, int] = {}

    def person_wrote(self, chat_id: str) -> None:
        """Reset the count, because a human is present who can stop it."""
        self._answered.pop(chat_id, None)

    def may_go_on(self, update: Incoming) -> bool:
        """Return whether a message is answered; those of humans always are."""
        if not update.is_bot:
            return True
        number = self._answered.pop(update.chat_id, 0) + 1
        self._answered[update.chat_id] = number
        if len(self._answered) > _MOST_CHATS:
            del self._answered[next(iter(self._answered))]
        if number == _MOST_BOT_REPLIES + 1:
            log.warning("Another bot is no longer answered until a human writes there")
        return number <= _MOST_BOT_REPLIES


class UpdateConverter:
    """Converts updates into messages.

    Args:
        options: When a group is answered.
    """

    def __init__(self, options: TelegramOptions) -> None:
        self._options = options
        self._talk, self._edits = BotReplyLimit(), EditHistory()

    def event_of(self, group: Sequence[Incoming], bot: Bot) -> MessageEvent | None:
        """Return the message that related updates form; None: it is not for this bot."""
        try:
            return self._event_of(group, bot)
        except Exception:
            # A bug here would recur with every response and block all other updates.
            log.exception("An update of Telegram could not be processed")
            return None

    def _event_of(self, group: Sequence[Incoming], bot: Bot) -> MessageEvent | None:
        first = group[0]
        if first.user_id and not first.is_bot:
            self._talk.person_wrote(first.chat_id)
        if first.kind == "edited":
            changed = self._edits.changed(first)
            return message_event([changed], bot, self._options) if changed is not None else None
        event = message_event(group, bot, self._options)
        if event is None or not self._talk.may_go_on(first):
            return None
        for each in group:
            self._edits.remember(each)
        return event
