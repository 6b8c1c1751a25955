"""A reply while it is written, and the moment stored rows take its place."""

from dataclasses import replace

import pytest

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.ui.transcript.live.live_turn import LiveReply
from hermes_desktop.ui.transcript.separators import FailureBlock

REPLY = "The **6:12** is early.\n\n```python\nprint(1)\n```\n\nThat is all."


def done(last: int | None = 12, turn_id: str = "t", **fields) -> TurnFinished:
    values = {"outcome": "done", "reply": REPLY} | fields
    return TurnFinished(turn_id, "key", "s", last, **values)


def stream(view, text: str = REPLY, size: int = 7, turn_id: str = "t") -> None:
    for start in range(0, len(text), size):
        view.add_delta(turn_id, text[start : start + size])


def plain(view) -> list[str]:
    return [widget.plain() for widget in view.messages]


@pytest.fixture
def history(row):
    return [row(1), row(2, "assistant")]


def test_the_prompt_stands_at_once_with_an_open_reply(view, show, history) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    assert plain(view)[-2:] == ["Which train?", ""]
    assert isinstance(list(view.messages)[-1], LiveReply)


def test_pieces_are_collected_into_few_repaints(view, show, history, qtbot) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    repaints: list[int] = []
    view._flush_timer.timeout.connect(lambda: repaints.append(1))
    stream(view, "word " * 400, size=5)
    assert plain(view)[-1] == ""
    qtbot.waitUntil(lambda: plain(view)[-1].count("word") == 400, timeout=60_000)
    assert len(repaints) == 1


def test_text_that_was_thinking_is_taken_back(view, show, history, qtbot) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    thinking = "First.\n\n```py\na = 1\n```\n\nThen more."
    stream(view, thinking)
    qtbot.waitUntil(lambda: plain(view)[-1].endswith("more."), timeout=60_000)
    view.add_delta("t", thinking, "retracted")
    view.add_delta("t", thinking, "reasoning")
    view.add_delta("t", "The 6:12.")
    qtbot.waitUntil(lambda: plain(view)[-1].strip() == "The 6:12.", timeout=60_000)
    assert list(view.messages)[-1].thinking == thinking


def test_finished_blocks_keep_their_widgets(view, show, history, qtbot) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.add_delta("t", "One.\n\n```py\na = 1\n```\n\nTwo")
    qtbot.waitUntil(lambda: plain(view)[-1].endswith("Two"), timeout=60_000)
    reply = list(view.messages)[-1]
    before = reply.segments
    view.add_delta("t", " and more.\n\nThree.")
    qtbot.waitUntil(lambda: plain(view)[-1].endswith("Three."), timeout=60_000)
    assert reply.segments == before
    assert plain(view)[-1] == "One.\na = 1\nTwo and more.\nThree."


def test_an_open_fence_gets_text_appended_in_place(view, show, history, qtbot) -> None:
    show(history)
    view.begin_turn("t", "Code?")
    view.add_delta("t", "```py\nline 1\n")
    qtbot.waitUntil(lambda: plain(view)[-1] == "line 1", timeout=60_000)
    (segment,) = list(view.messages)[-1].segments
    view.add_delta("t", "line 2\n" * 50)
    qtbot.waitUntil(lambda: plain(view)[-1].count("line 2") == 50, timeout=60_000)
    assert list(view.messages)[-1].segments == (segment,)
    assert segment.text.toPlainText().count("line 2") == 50


def test_stored_rows_take_over_without_a_new_widget(view, show, history, row, page, settle) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    stream(view)
    view.finish_turn(done())
    prompt, reply = list(view.messages)[-2:]
    segments = reply.segments
    place = view.area.verticalScrollBar().value()
    stored = [*history, row(11, "user", "Which train?"), row(12, "assistant", REPLY)]
    view.apply_refresh(page(stored))
    settle()
    assert list(view.messages)[-2:] == [prompt, reply]
    assert reply.segments == segments
    assert view.area.column.item("m12").widget is reply
    assert view.live.turns == []
    assert view.area.verticalScrollBar().value() == place
    view.apply_refresh(page([replace(message) for message in stored]))
    settle()
    assert list(view.messages)[-1] is reply


def test_a_turn_undone_before_its_rows_were_read_goes_away(
    view, show, history, page, settle
) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    stream(view)
    view.finish_turn(done())
    view.apply_refresh(page(history))
    settle()
    assert len(list(view.messages)) == len(history) + 2, "this look may be older than the rows"
    view.apply_refresh(page(history), stored_before=view.live.stored_ids())
    settle()
    assert len(list(view.messages)) == len(history)
    assert view.live.turns == []


def test_other_text_that_was_stored_replaces_the_streamed_one(
    view, show, history, row, page, settle
) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    stream(view)
    view.finish_turn(done())
    view.apply_refresh(
        page([*history, row(11, "user", "Which train?"), row(12, "assistant", "Cleaned.")])
    )
    settle()
    assert plain(view)[-2:] == ["Which train?", "Cleaned."]
    assert view.live.turns == []


def test_rows_of_others_come_before_the_open_reply(view, show, history, row, page, settle) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.add_delta("t", "Thinking")
    foreign = [
        *history,
        row(11, "user", "Which train?"),
        row(12, "user", "From Telegram"),
        row(13, "assistant", "To Telegram"),
    ]
    view.apply_refresh(page(foreign))
    settle()
    view._flush()
    assert plain(view)[-4:] == ["Which train?", "From Telegram", "To Telegram", "Thinking"]
    view.finish_turn(done(14, reply="Thinking"))
    view.apply_refresh(page([*foreign, row(14, "assistant", "Thinking")]))
    settle()
    assert plain(view)[-1] == "Thinking"
    assert plain(view).count("Thinking") == 1


def test_rows_read_before_the_end_is_announced_are_not_shown_twice(
    view, show, history, row, page, settle
) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    stream(view)
    stored = [*history, row(11, "user", "Which train?"), row(12, "assistant", REPLY)]
    view.apply_refresh(page(stored))
    settle()
    view.finish_turn(done())
    settle()
    assert len(plain(view)) == 4
    assert view.live.turns == []


def test_an_equal_prompt_of_long_ago_is_not_taken_for_ours(view, show, row, page, settle) -> None:
    history = [row(1, "user", "again"), row(2, "assistant", "first")]
    show(history)
    view.begin_turn("t", "again")
    view.apply_refresh(page(history))
    settle()
    assert plain(view) == ["again", "first", "again", ""]


def test_a_turn_that_began_out_of_sight_is_matched_by_its_time(
    view, show, row, settle, qtbot
) -> None:
    old = row(1, "user", "again")
    ours = row(3, "user", "again")
    show([old, row(2, "assistant", "first"), ours])
    view.begin_turn("t", "again", started_at=ours.timestamp, floor_id=0)
    view.add_delta("t", "second")
    settle()
    qtbot.waitUntil(lambda: plain(view)[-1] == "second", timeout=60_000)
    assert plain(view) == ["again", "first", "again", "second"]


def test_a_reply_without_pieces_is_shown_at_its_end(view, show, history) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.finish_turn(done())
    assert plain(view)[-1].startswith("The 6:12 is early.")


def test_a_failed_turn_says_why_and_can_be_tried_again(view, show, history, qtbot) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.finish_turn(
        done(
            11,
            outcome="failed",
            reply="",
            error_title="Nobody answers.",
            error_detail="Refused.",
            error_hint="Start it.",
        )
    )
    block = view.area.column.items[-1].widget
    assert isinstance(block, FailureBlock)
    assert block.accessibleName() == "Nobody answers. Refused. Start it."
    assert not any(isinstance(widget, LiveReply) for widget in view.messages)
    with qtbot.waitSignal(view.retry_wanted, timeout=60_000) as signal:
        block.retry.button.click()
    assert signal.args == ["t", "Which train?"]
    view.begin_turn("u", "Which train?")
    assert not any(isinstance(i.widget, FailureBlock) for i in view.area.column.items)


def test_a_failure_stays_below_the_stored_prompt(view, show, history, row, page, settle) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.finish_turn(done(11, outcome="failed", reply="", error_title="Nobody answers."))
    view.apply_refresh(page([*history, row(11, "user", "Which train?")]))
    settle()
    assert plain(view) == ["Message 1", "Message 2", "Which train?"]
    assert isinstance(view.area.column.items[-1].widget, FailureBlock)


def test_a_failure_stays_with_its_message_when_the_next_one_is_answered(
    view, show, history, row, page, settle
) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.queue_turn("u", "And back?")
    view.finish_turn(done(11, outcome="failed", reply="", error_title="Nobody answers."))
    view.begin_turn("u", "And back?")
    asked = [*history, row(11, "user", "Which train?"), row(12, "user", "And back?")]
    view.apply_refresh(page(asked))
    settle()
    stream(view, "At eight.", turn_id="u")
    view.finish_turn(done(13, turn_id="u", reply="At eight."))
    view.apply_refresh(page([*asked, row(13, "assistant", "At eight.")]))
    settle()
    assert plain(view)[2:] == ["Which train?", "And back?", "At eight."]
    widgets = [item.widget for item in view.area.column.items]
    blocks = [at for at, widget in enumerate(widgets) if isinstance(widget, FailureBlock)]
    messages = list(view.messages)
    assert len(blocks) == 1
    assert widgets[blocks[0] - 1] is messages[2]
    assert widgets[blocks[0] + 1] is messages[3]


def test_a_prompt_that_was_not_stored_leaves_no_block(view, show, history) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    view.finish_turn(done(None, outcome="failed", reply="", stored=False, error_title="Locked."))
    assert plain(view) == ["Message 1", "Message 2"]
    assert isinstance(view.area.column.items[-1].widget, FailureBlock)


def test_a_stopped_reply_keeps_what_came(view, show, history) -> None:
    show(history)
    view.begin_turn("t", "Which train?")
    stream(view, "The 6:12 is")
    view.finish_turn(done(12, outcome="stopped", reply="The 6:12 is"))
    reply = list(view.messages)[-1]
    assert reply.plain() == "The 6:12 is"


def test_waiting_prompts_say_so_until_their_turn(view, show, history) -> None:
    show(history)
    view.begin_turn("t", "First")
    view.queue_turn("u", "Second")
    keys = [item.key for item in view.area.column.items]
    assert keys[-4:] == ["prompt t", "reply t", "prompt u", "waiting u"]
    view.finish_turn(done())
    view.begin_turn("u", "Second")
    keys = [item.key for item in view.area.column.items]
    assert keys[-2:] == ["prompt u", "reply u"]


def test_thinking_streams_into_a_folded_line(view, show, history, qtbot) -> None:
    show(history)
    view.begin_turn("t", "Why?")
    view.add_delta("t", "Let me see.", "reasoning")
    view.add_delta("t", "Because.")
    qtbot.waitUntil(lambda: plain(view)[-1] == "Because.", timeout=60_000)
    reply = list(view.messages)[-1]
    assert len(reply.segments) == 1
    reply._thinking_fold.button.click()
    assert len(reply.segments) == 2


def test_writing_does_not_scroll_who_reads_above(view, show, rows, qtbot) -> None:
    show(rows(1, 60))
    bar = view.area.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    view.begin_turn("t", "Which train?")
    place = bar.value()
    stream(view, "words " * 500)
    qtbot.waitUntil(lambda: plain(view)[-1].count("words") == 500, timeout=60_000)
    assert bar.value() == place


def test_writing_is_followed_at_the_end(view, show, rows, qtbot) -> None:
    show(rows(1, 60))
    view.begin_turn("t", "Which train?")
    stream(view, "words " * 2_000, size=60)
    qtbot.waitUntil(lambda: plain(view)[-1].count("words") == 2_000, timeout=60_000)
    bar = view.area.verticalScrollBar()
    assert bar.value() == bar.maximum()


def test_pieces_of_unknown_turns_are_ignored(view, show, history) -> None:
    show(history)
    view.add_delta("never begun", "text")
    view.finish_turn(replace(done(), turn_id="never begun"))
    assert len(plain(view)) == 2


def test_the_answer_to_a_command_stays_until_something_new_is_begun(
    view, show, history, row, page, settle
) -> None:
    show(history)
    view.begin_turn("t", "/version")
    view.finish_turn(done(None, reply="Hermes Desktop 1", stored=False))
    view.apply_refresh(page([*history, row(11, "user", "From elsewhere")]))
    settle()
    assert plain(view)[-2:] == ["/version", "Hermes Desktop 1"]
    view.begin_turn("u", "Which train?")
    view.add_delta("u", "The late one.")
    view._flush()
    assert plain(view)[-3:] == ["From elsewhere", "Which train?", "The late one."]
