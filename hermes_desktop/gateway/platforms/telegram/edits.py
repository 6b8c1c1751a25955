"""Messages that their writers changed after we had taken them."""

from collections import OrderedDict
from dataclasses import replace

from hermes_desktop.gateway.platforms.telegram.records import Incoming

_KEPT = 500
_QUOTED = 200


class Edits:
    """Knows what the latest messages said, for Telegram also tells of changes to nothing."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[str, str], str] = OrderedDict()

    def remember(self, update: Incoming) -> None:
        """A message was taken."""
        if update.kind == "message":
            self._said[update.chat_id, update.message_id] = update.text
            if len(self._said) > _KEPT:
                self._said.popitem(last=False)

    def changed(self, update: Incoming) -> Incoming | None:
        """A change as a message of its own; None: it says what it said, or was nothing to us."""
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
