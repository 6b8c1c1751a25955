"""Messages that their senders edited after they had been processed."""

from collections import OrderedDict
from dataclasses import replace

from hermes_desktop.gateway.platforms.telegram.records import Incoming

_KEPT = 500
_QUOTED = 200


class EditHistory:
    """Remembers the latest texts, because Telegram also reports edits without a change."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[str, str], str] = OrderedDict()

    def remember(self, update: Incoming) -> None:
        """Remember an accepted message."""
        if update.kind == "message":
            self._said[update.chat_id, update.message_id] = update.text
            if len(self._said) > _KEPT:
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
