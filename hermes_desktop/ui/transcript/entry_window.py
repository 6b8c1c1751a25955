"""The window of loaded messages that have widgets. No Qt.

Loaded messages stay in memory as records; only a window of them has widgets. Scrolling moves the
window, and more messages are read only beyond the loaded ones.
"""

from collections.abc import Sequence

from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry, build_entries

MAX_ALIVE = 300
STEP = 60
REFRESHED = 300
"""How many of the last messages are read again after the session changed."""
_PAGE_LIMIT = 400


class EntryWindow:
    """The loaded messages, their entries, and the window of them that is shown."""

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
        """The id that all new rows exceed; 0 when the newest rows are not loaded."""
        return 0 if self.has_newer else self.newest_id

    def has_prompt(self, text: str, *, after: int, since: float) -> bool:
        """Return whether a message of the user with this text is loaded.

        Args:
            text: The text.
            after: Its id is greater; 0 if that is unknown.
            since: It was stored at this time or later, in seconds since the epoch.
        """
        return any(
            message.role == "user"
            and message.content.strip() == text.strip()
            and (message.id > after if after else message.timestamp >= since)
            for message in self.messages
        )

    def set(self, messages: Sequence[Message], *, has_older: bool, has_newer: bool = False) -> None:
        """Start with the end of a conversation, or with a part in the middle of it."""
        self.messages = tuple(messages)
        self.has_older = has_older
        self.has_newer = has_newer
        self.entries = build_entries(self.messages)
        self._high = len(self.entries)
        self._low = max(self._high - MAX_ALIVE, 0)

    def prepend(self, messages: Sequence[Message], *, has_older: bool) -> None:
        """Prepend older messages; the newest widgets are dropped if there are too many."""
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
        """Append newer messages; the oldest widgets are dropped if there are too many."""
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
        """Return the entry that shows a message: its own, or that of the call it answers."""
        places = {message.id: place for place, message in enumerate(self.messages)}
        wanted = places.get(message_id, -1)
        shown = [entry for entry in self.entries if isinstance(entry, MessageEntry)]
        before = (entry for entry in reversed(shown) if places[entry.message.id] <= wanted)
        return next(before, None)

    def refresh_until(self) -> Message | None:
        """Return the message up to which to read again; None for the end."""
        return self.messages[-1] if self.has_newer and self.messages else None

    def refresh_from(self) -> Message | None:
        """Return the message from which to read the conversation again."""
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
        """Replace the messages that were read again, starting at :meth:`refresh_from`.

        Args:
            messages: The messages as read.
            has_older: Whether there are messages before the first of them.
            follow: Whether the end is visible, so that the window moves with it.
            has_newer: Whether there are messages after the last of them.
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

    def show_older(self) -> bool:
        """Show older loaded entries; return False if all loaded ones are shown."""
        if self._low == 0:
            return False
        self._low = max(self._low - STEP, 0)
        self._high = min(self._high, self._low + MAX_ALIVE)
        return True

    def grow_down(self) -> bool:
        """Show newer loaded entries; return False if the newest loaded one is shown."""
        if self._high == len(self.entries):
            return False
        self._high = min(self._high + STEP, len(self.entries))
        self._low = max(self._low, self._high - MAX_ALIVE)
        return True

    def to_end(self) -> bool:
        """Show the newest loaded entries; return False if they are shown already."""
        if self._high == len(self.entries):
            return False
        self._high = len(self.entries)
        self._low = max(self._high - STEP, 0)
        return True

    def _untouched(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the loaded messages before the part that was read again."""
        first = self.refresh_from()
        if first is None:
            return ()
        position = self.messages.index(first)
        cut = len(messages) >= _PAGE_LIMIT and messages[0].id > first.id
        return () if cut else self.messages[:position]
