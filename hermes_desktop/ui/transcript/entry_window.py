"""Which of the loaded messages have widgets. No Qt.

Loaded messages stay in memory as records; only a window of them is alive as widgets. Scrolling
moves the window, and only beyond the loaded ones somebody has to read more.
"""

from collections.abc import Sequence

from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry, build_entries

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
        self.has_newer = False
        self._low = 0
        self._high = 0

    @property
    def shown(self) -> tuple[Entry, ...]:
        """The entries that should have widgets."""
        return self.entries[self._low : self._high]

    @property
    def at_end(self) -> bool:
        """Whether the conversation's newest entry is among the shown ones."""
        return self._high == len(self.entries) and not self.has_newer

    @property
    def newest_id(self) -> int:
        """Greatest message id loaded, 0 if there is none."""
        return max((message.id for message in self.messages), default=0)

    @property
    def floor_id(self) -> int:
        """Rows that come now have greater ids; 0 when the newest rows are not loaded."""
        return 0 if self.has_newer else self.newest_id

    def set(self, messages: Sequence[Message], *, has_older: bool, has_newer: bool = False) -> None:
        """Begin with the end of a conversation, or with a part in the middle of it."""
        self.messages = tuple(messages)
        self.has_older = has_older
        self.has_newer = has_newer
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

    def append(self, messages: Sequence[Message], *, has_newer: bool) -> None:
        """Put newer messages behind; the oldest widgets go if there are too many."""
        known = {message.id for message in self.messages}
        newer = tuple(message for message in messages if message.id not in known)
        self.messages += newer
        self.has_newer = has_newer
        low_key = self.entries[self._low].key if self._low < len(self.entries) else ""
        self.entries = build_entries(self.messages)
        keys = [entry.key for entry in self.entries]
        self._low = keys.index(low_key) if low_key in keys else 0
        self._high = len(keys)
        self._low = max(self._low, self._high - MAX_ALIVE)

    def entry_of(self, message_id: int) -> MessageEntry | None:
        """The entry that shows a message: its own, or that of the call it is the result of."""
        places = {message.id: place for place, message in enumerate(self.messages)}
        wanted = places.get(message_id, -1)
        shown = [entry for entry in self.entries if isinstance(entry, MessageEntry)]
        before = (entry for entry in reversed(shown) if places[entry.message.id] <= wanted)
        return next(before, None)

    def refresh_until(self) -> Message | None:
        """The message up to which it should be read again; None for to the end."""
        return self.messages[-1] if self.has_newer and self.messages else None

    def refresh_from(self) -> Message | None:
        """The message from which on the conversation should be read again."""
        if not self.messages:
            return None
        return self.messages[max(len(self.messages) - REFRESHED, 0)]

    def refresh(
        self,
        messages: Sequence[Message],
        *,
        has_older: bool,
        follow: bool,
        has_newer: bool = False,
    ) -> None:
        """Take in what was read again from :meth:`refresh_from` on.

        Args:
            messages: What was read.
            has_older: Whether there are messages before the first of them.
            follow: The person looks at the end, so that the window moves with it.
            has_newer: Whether there are messages behind the last of them.
        """
        was_end = self.at_end
        low_key = (
            self.entries[self._low].key if self.entries and self._low < len(self.entries) else ""
        )
        kept = self._untouched(messages)
        self.has_newer = has_newer
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
        """Show newer loaded entries; False when the newest loaded one is shown."""
        if self._high == len(self.entries):
            return False
        self._high = min(self._high + STEP, len(self.entries))
        self._low = max(self._low, self._high - MAX_ALIVE)
        return True

    def to_end(self) -> bool:
        """Show the newest loaded entries; False when they are shown already."""
        if self._high == len(self.entries):
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
