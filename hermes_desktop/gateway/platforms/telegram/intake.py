"""Conversion of updates with the state it needs: edited texts and replies to bots."""

import logging
from collections.abc import Sequence

from hermes_desktop.gateway.platforms.messages import MessageEvent
from hermes_desktop.gateway.platforms.telegram.bot_talk import BotReplyLimit
from hermes_desktop.gateway.platforms.telegram.edits import EditHistory
from hermes_desktop.gateway.platforms.telegram.inbound import message_event
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions
from hermes_desktop.gateway.platforms.telegram.records import Bot, Incoming

log = logging.getLogger(__name__)


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
            log.exception("Nothing could be made of an update of Telegram")
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
