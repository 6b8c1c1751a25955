"""Protection against endless conversations between two bots."""

import logging

from hermes_desktop.gateway.platforms.telegram.records import Incoming

log = logging.getLogger(__name__)

_MOST = 10
_CHATS = 500


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
        if len(self._answered) > _CHATS:
            del self._answered[next(iter(self._answered))]
        if number == _MOST + 1:
            log.warning("Another bot is not answered any more until a person writes there")
        return number <= _MOST
