"""Which of the loaded messages have widgets. No Qt.

Loaded messages stay in memory as records; only a window of them is alive as widgets. Scrolling
moves the window, and only beyond the loaded ones somebody has to read more.
"""

from collections.abc import Sequence

from hermes_desktop.state.records import Message
from hermes_desktop.ui.transcript.entries import Entry, build_entries

MAX_ALIVE = 300
STEP = 60
REFRESHED = 300
"""How many of the last messages are read again when the session changed."""
_PAGE_LIMIT = 400


class EntryWindow:
    """The loaded messages, their entries, and the part of them that is shown."""

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()
        self.entries: tuple[Entry, ...] = ()
        self.has_older = False
        self._low = 0
        self._high = 0

    @property
    def shown(self) -> tuple[Entry, ...]:
        """The entries that should have widgets."""
        return self.entries[self._low : self._high]

    @property
    def at_end(self) -> bool:
        """Whether the newest loaded entry is among the shown ones."""
        return self._high == len(self.entries)

    @property
    def newest_id(self) -> int:
        """Greatest message id loaded, 0 if there is none."""
        return max((message.id for message in self.messages), default=0)

    def set(self, messages: Sequence[Message], *, has_older: bool) -> None:
        """Begin with the end of a conversation."""
        self.messages = tuple(messages)
        self.has_older = has_older
        self.entries = build_entries(self.messages)
        self._high = len(self.entries)
        self._low = max(self._high - MAX_ALIVE, 0)

    def prepend(self, messages: Sequence[Message], *, has_older: bool) -> None:
        """Put older messages in front; the newest widgets go if there are too many."""
        known = {message.id for message in self.messages}
        older = tuple(message for message in messages if message.id not in known)
        last = self.entries[self._high - 1].key if self._high else ""
        self.messages = older + self.messages
        self.has_older = has_older
        self.entries = build_entries(self.messages)
        keys = [entry.key for entry in self.entries]
        self._high = keys.index(last) + 1 if last in keys else len(keys)
        self._low = 0
        self._high = min(self._high, MAX_ALIVE)

    def refresh_from(self) -> Message | None:
        """The message from which on the conversation should be read again."""
        if not self.messages:
            return None
        return self.messages[max(len(self.messages) - REFRESHED, 0)]

    def refresh(self, messages: Sequence[Message], *, has_older: bool, follow: bool) -> None:
        """Take in what was read again from :meth:`refresh_from` on.

        Args:
            messages: What was read.
            has_older: Whether there are messages before the first of them.
            follow: The person looks at the end, so that the window moves with it.
        """
        was_end = self.at_end
        low_key = (
            self.entries[self._low].key if self.entries and self._low < len(self.entries) else ""
        )
        kept = self._untouched(messages)
        if not kept:
            self.has_older = has_older
        self.messages = kept + tuple(messages)
        self.entries = build_entries(self.messages)
        keys = [entry.key for entry in self.entries]
        length = len(keys)
        self._low = keys.index(low_key) if low_key in keys else max(length - MAX_ALIVE, 0)
        if was_end:
            self._high = length
            if self._high - self._low > MAX_ALIVE:
                if follow:
                    self._low = self._high - MAX_ALIVE
                else:
                    self._high = self._low + MAX_ALIVE
        else:
            self._high = min(self._low + MAX_ALIVE, length)

    def grow_up(self) -> bool:
        """Show older loaded entries; False when all loaded ones are shown."""
        if self._low == 0:
            return False
        self._low = max(self._low - STEP, 0)
        self._high = min(self._high, self._low + MAX_ALIVE)
        return True

    def grow_down(self) -> bool:
        """Show newer loaded entries; False when the newest is shown."""
        if self.at_end:
            return False
        self._high = min(self._high + STEP, len(self.entries))
        self._low = max(self._low, self._high - MAX_ALIVE)
        return True

    def to_end(self) -> bool:
        """Show the newest entries; False when they are shown already."""
        if self.at_end:
            return False
        self._high = len(self.entries)
        self._low = max(self._high - STEP, 0)
        return True

    def _untouched(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Loaded messages before the part that was read again."""
        first = self.refresh_from()
        if first is None:
            return ()
        position = self.messages.index(first)
        cut = len(messages) >= _PAGE_LIMIT and messages[0].id > first.id
        return () if cut else self.messages[:position]
