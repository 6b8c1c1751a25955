"""What becomes of a message that comes while its chat is being answered."""

import pytest

from hermes_desktop.gateway.runner.queue import (
    MAX_QUEUED,
    Busy,
    BusyChat,
    acknowledgement,
    is_stale,
)


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        (BusyChat("interrupt"), Busy.INTERRUPT),
        (BusyChat("interrupt", waiting=3), Busy.INTERRUPT),
        (BusyChat("interrupt", heard=False), Busy.QUEUE),
        (BusyChat("interrupt", subagents=True), Busy.QUEUE),
        (BusyChat("interrupt", compressing=True), Busy.QUEUE),
        (BusyChat("queue"), Busy.QUEUE),
        (BusyChat("queue", waiting=MAX_QUEUED - 1), Busy.QUEUE),
        (BusyChat("steer"), Busy.STEER),
        *((BusyChat(mode, waiting=MAX_QUEUED), Busy.REFUSE) for mode in ("interrupt", "queue")),
    ],
)
def test_decisions(chat: BusyChat, expected: Busy) -> None:
    assert chat.decide() is expected


@pytest.mark.parametrize(
    ("busy", "position", "minutes", "words"),
    [
        (Busy.INTERRUPT, 1, 0, "I will stop the current reply and answer your message."),
        (Busy.INTERRUPT, 1, 3, "I will stop the current reply (running for 3 min) and"),
        (Busy.STEER, 1, 0, "I will take that into account in my reply."),
        (Busy.QUEUE, 1, 0, "I will answer this next. To stop the current reply, send /stop"),
        (
            Busy.QUEUE,
            3,
            1,
            "I will answer this in turn, after 2 others (running for 1 min). To discard",
        ),
    ],
)
def test_words(busy: Busy, position: int, minutes: int, words: str) -> None:
    assert acknowledgement(busy, position=position, minutes=minutes).startswith(words)


@pytest.mark.parametrize(
    ("began", "active", "timeout", "has_agent", "expected"),
    [
        (0, 0, 100, True, True),
        (0, 0, 100, False, False),
        (0, 0, 0, True, False),
        (0, 950, 100, True, False),
        (-6300, 950, 100, True, True),
        (-18999, 950, 2000, True, False),
        (-19000, 950, 2000, True, True),
    ],
)
def test_staleness(
    began: float, active: float, timeout: float, *, has_agent: bool, expected: bool
) -> None:
    stale = is_stale(
        now=1000, began_at=began, active_at=active, timeout_s=timeout, has_agent=has_agent
    )
    assert stale is expected
