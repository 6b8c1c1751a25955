"""Keeps two programs from answering each other for ever."""

import logging

from hermes_desktop.gateway.platforms.telegram.records import Incoming

log = logging.getLogger(__name__)

_MOST = 10
_CHATS = 500


class BotTalk:
    """Counts how often other bots were answered in a chat since a person wrote there."""

    def __init__(self) -> None:
        self._answered: dict[str, int] = {}

    def person_wrote(self, chat_id: str) -> None:
        """Somebody is there who can stop it."""
        self._answered.pop(chat_id, None)

    def may_go_on(self, update: Incoming) -> bool:
        """Whether a message that is for us is answered; those of people always are."""
        if not update.is_bot:
            return True
        number = self._answered.pop(update.chat_id, 0) + 1
        self._answered[update.chat_id] = number
        if len(self._answered) > _CHATS:
            del self._answered[next(iter(self._answered))]
        if number == _MOST + 1:
            log.warning("Another bot is not answered any more until a person writes there")
        return number <= _MOST
