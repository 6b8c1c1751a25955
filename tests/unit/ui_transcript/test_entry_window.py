"""Which messages are alive, and how a second look changes them."""

from dataclasses import replace

from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.entries import MessageEntry
from hermes_desktop.ui.transcript.entry_window import MAX_ALIVE, REFRESHED, EntryWindow

NOON = 1_795_867_200.0


def rows(first: int, last: int) -> list[Message]:
    return [Message(n, "s", "user", f"message {n}", NOON + n) for n in range(first, last + 1)]


def ids(window: EntryWindow) -> list[int]:
    return [entry.message.id for entry in window.shown if isinstance(entry, MessageEntry)]


def window_of(first: int, last: int, *, has_older: bool = True) -> EntryWindow:
    window = EntryWindow()
    window.set(rows(first, last), has_older=has_older)
    return window


def test_older_messages_push_the_newest_out_of_the_window_not_out_of_memory() -> None:
    window = window_of(1_000, 1_059)
    for first in range(940, 400, -60):
        window.prepend(rows(first, first + 59), has_older=True)
    assert len(window.shown) <= MAX_ALIVE
    assert not window.at_end
    assert ids(window)[0] == 460
    assert window.newest_id == 1_059
    while window.grow_down():
        pass
    assert window.at_end
    assert ids(window)[-1] == 1_059
    assert len(window.shown) <= MAX_ALIVE
    assert window.show_older()
    assert window.to_end()


def test_new_messages_appear_at_the_end() -> None:
    window = window_of(1, 60)
    window.refresh(rows(1, 62), has_older=False, follow=True)
    assert ids(window)[-2:] == [61, 62]


def test_who_reads_far_up_is_not_pushed_away_by_new_messages() -> None:
    window = window_of(1, 299)
    window.refresh(rows(1, 340), has_older=False, follow=False)
    assert ids(window)[0] == 1
    assert not window.at_end


def test_an_undo_removes_and_a_rewrite_replaces() -> None:
    window = window_of(1, 60)
    window.refresh(rows(1, 58), has_older=True, follow=True)
    assert ids(window)[-1] == 58
    changed = rows(1, 58)
    changed[57] = replace(changed[57], content="other")
    window.refresh(changed, has_older=True, follow=True)
    assert window.messages[-1].content == "other"


def test_everything_undone_leaves_nothing() -> None:
    window = window_of(1, 3)
    window.refresh([], has_older=False, follow=True)
    assert window.shown == ()
    assert window.refresh_from() is None


def test_only_the_last_part_is_read_again() -> None:
    window = window_of(501, 560)
    window.prepend(rows(1, 500), has_older=False)
    first = window.refresh_from()
    assert first is not None
    assert first.id == 560 - REFRESHED + 1
    window.refresh(rows(first.id, 561), has_older=True, follow=True)
    assert len(window.messages) == 561
    assert not window.has_older


def test_a_gap_is_never_shown_as_if_nothing_were_missing() -> None:
    """So much came that the second look does not reach back to what is loaded."""
    window = window_of(1, 60)
    window.refresh(rows(700, 1_099), has_older=True, follow=True)
    assert window.messages[0].id == 700
    assert window.has_older


def test_a_removed_first_message_keeps_its_neighbours() -> None:
    window = window_of(1, 60)
    window.refresh(rows(2, 60), has_older=False, follow=True)
    assert ids(window)[0] == 2
