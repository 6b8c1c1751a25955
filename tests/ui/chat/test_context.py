"""How full a session is: as the model counts, about when it is opened, unknown where it is."""

import json
import os
import re

import pytest

from hermes_desktop.core.events import ContextUsed, TurnNote, TurnStarted
from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.chat.header.context_gauge import ContextGauge
from hermes_desktop.ui.chat.header.context_text import is_near, strip_words, tip_words, whole_words
from hermes_desktop.ui.transcript.separators import SeparatorWidget
from tests.fakes.chat_stage import ChatStage
from tests.fakes.model_server import error, hang, text


def keep_picture(stage: ChatStage, name: str) -> None:
    folder = os.environ.get("HERMES_PICTURES")
    if folder:
        stage.page.grab().save(f"{folder}/{name}.png")


def with_window(stage: ChatStage, length: int) -> None:
    def configure() -> None:
        model = {
            "default": "fake-model", "base_url": stage.server.base_url, "provider": "custom",
            "context_length": length,
        }  # fmt: skip
        stage.paths.config_yaml.write_text(json.dumps({"model": model}), encoding="utf-8")

    stage.configure = configure  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("used", "strip", "whole"),
    [
        (
            ContextUsed("s", 12_300, 40_000, 30_000),
            "context 31 %",
            "12,300 of 40,000 tokens, shortened at 30,000",
        ),
        (
            ContextUsed("s", 12_345, 40_000, 30_000, about=True),
            "context about 31 %",
            "About 12,300 of 40,000 tokens, shortened at 30,000",
        ),
        (
            ContextUsed("s", 12_300, None, 96_000),
            "context 12.3 k tokens",
            "12,300 tokens, shortened at 96,000",
        ),
        (ContextUsed("s", 50_000, 40_000), "context 100 %", "50,000 of 40,000 tokens"),
    ],
)
def test_words(used: ContextUsed, strip: str, whole: str) -> None:
    assert strip_words(used) == strip
    assert whole_words(used) == whole


def test_what_is_near_the_threshold_is_marked_and_explained() -> None:
    assert not is_near(ContextUsed("s", 26_000, 40_000, 30_000))
    near = ContextUsed("s", 27_500, 40_000, 30_000)
    assert is_near(near)
    assert "summarized soon" in tip_words(near)
    assert "is not known" in tip_words(ContextUsed("s", 10, None, 30_000))
    assert "Automatic compression is off" in tip_words(ContextUsed("s", 10, 40_000, None))


def test_the_picture_follows_and_unknown_is_not_drawn(qtbot, theme) -> None:
    gauge = ContextGauge(theme)
    qtbot.addWidget(gauge)
    assert gauge.isHidden()
    gauge.show_used(ContextUsed("s", 30_000, 40_000, 30_000))
    assert gauge.accessibleName() == "Context: 30,000 of 40,000 tokens, shortened at 30,000"
    gauge.resize(gauge.sizeHint())
    image = gauge.grab().toImage()
    seen = {image.pixelColor(x, image.height() // 2).name() for x in range(image.width())}
    assert theme.palette.warning in seen
    wide = gauge.sizeHint().width()
    gauge.show_used(ContextUsed("s", 300, None, None))
    assert gauge.sizeHint().width() < wide + 40
    gauge.show_used(None)
    assert gauge.isHidden()


@pytest.mark.asyncio
async def test_counted_after_each_answer_and_about_when_opened(stage: ChatStage) -> None:
    with_window(stage, 40_000)
    old = stage.make_session("old", "Hello " * 2_000, "Hi")
    async with stage:
        page = stage.page
        seen: list[ContextUsed | None] = []
        page.context.changed.connect(seen.append)
        page.new_chat()
        assert page.context.used is None
        stage.server.script(text("Fine.", usage=(12_000, 300)))
        await stage.say_and_wait("How are you?")
        await stage.until(lambda: page.context.used and not page.context.used.about)
        counted = page.context.used
        assert counted == ContextUsed(str(page.current_session_id), 12_300, 40_000, 34_000)
        await stage.until(lambda: "12.3 k tokens" in page.header.facts.text())
        await stage.show(old)
        await stage.until(lambda: page.context.used and page.context.used.about)
        about = page.context.used
        assert about is not None
        assert 2_900 < about.used_tokens < 3_400
        assert "about" in page.header.facts.text()
        await stage.show(counted.session_id)
        assert page.context.used == counted


@pytest.mark.asyncio
async def test_the_header_tells_that_another_model_would_answer(stage: ChatStage) -> None:
    stage.make_session("old", "Hello", "Hi", model="gpt-old")
    async with stage:
        await stage.show("old")
        await stage.until(lambda: "fake-model" in stage.page.header.facts.toolTip())
        assert "gpt-old" in stage.page.header.facts.text()
        assert "The next message goes to fake-model." in stage.page.header.facts.toolTip()


@pytest.mark.asyncio
async def test_notes_of_a_turn_pass_or_stay(stage: ChatStage) -> None:
    stage.make_session("s", "Hello", "Hi")
    async with stage:
        await stage.show("s")
        publish, live = stage.bus.publish, stage.page.view.live
        publish(TurnStarted("t", "k", "s", "Go"))
        publish(TurnNote("t", "s", "The provider asks to wait 12 s."))
        turn = live.find("t")
        assert turn is not None
        assert turn.note is not None
        assert turn.note.label.text() == "The provider asks to wait 12 s."
        stage.page.view.add_delta("t", "Here")
        assert turn.note is None
        publish(TurnNote("t", "s", "Answered by b, because a refused.", lasting=True))
        assert turn.note is None
        rows = [row for row in turn.reply.rows if hasattr(row, "label")]
        assert [row.label.text() for row in rows] == ["Answered by b, because a refused."]


@pytest.mark.asyncio
async def test_shortening_is_told_and_leaves_a_divider_in_the_same_row(stage: ChatStage) -> None:
    with_window(stage, 8_000)
    texts = [f"Number {number}. " + "word " * 240 for number in range(30)]
    stage.make_session("long", *texts, title="A long one", source="desktop")
    notes: list[TurnNote] = []
    async with stage:
        stage.bus.subscribe(TurnNote, notes.append)
        await stage.show("long")
        page = stage.page
        await stage.until(lambda: page.context.used)
        before = page.context.used
        assert before is not None
        assert before.about
        assert is_near(before)
        keep_picture(stage, "context-near")
        parts = [text(f"They counted {number}.", delay=0.1) for number in range(3)]
        stage.server.script(*parts, text("Fine.", usage=(2_000, 10)))
        stage.say("Go on")
        await stage.until(lambda: any(turn.note for turn in page.view.live.turns))
        turn = page.view.live.turns[0]
        assert turn.note is not None
        assert turn.note.label.text().startswith("Compressing the session")
        keep_picture(stage, "context-shortening")
        await stage.until(lambda: stage.finished)
        await stage.until(lambda: not page.view.live.turns)
        await stage.until(stage.settled)
        assert [note.text for note in notes][-1] == ""
        words = [
            item.widget.words
            for item in page.view.area.column.items
            if isinstance(item.widget, SeparatorWidget)
        ]
        (divider,) = [each for each in words if each.startswith("Earlier part summarized")]
        assert re.fullmatch(r"Earlier part summarized: \d+ messages → about \d+ tokens", divider)
        assert page.context.used == ContextUsed("long", 2_010, 8_000, 6_800)
        assert len((await stage.services.catalog.page(ListQuery())).rows) == 1
        keep_picture(stage, "context-shortened")
        folds = [w for w in page.view.messages if w.entry is not None and w.entry.is_summary]
        assert len(folds) == 1
        assert folds[0].plain() == ""


@pytest.mark.asyncio
async def test_a_provider_that_asks_to_wait_is_told_until_it_answers(stage: ChatStage) -> None:
    async with stage:
        page = stage.page
        page.new_chat()
        stage.server.script(error(429, "Slow down.", headers={"Retry-After": "2"}), text("Fine."))
        stage.say("Go")
        await stage.until(lambda: any(turn.note for turn in page.view.live.turns))
        note = page.view.live.turns[0].note
        assert note is not None
        assert "wait" in note.label.text()
        keep_picture(stage, "note-waiting")
        await stage.until(lambda: stage.finished)
        await stage.until(lambda: not page.view.live.turns)
        await stage.until(stage.settled)
        assert stage.texts() == ["Go", "Fine."]


@pytest.mark.asyncio
async def test_shortening_can_be_stopped_and_leaves_everything_as_it_was(stage: ChatStage) -> None:
    with_window(stage, 8_000)
    texts = [f"Number {number}. " + "word " * 240 for number in range(30)]
    stage.make_session("long", *texts, source="desktop")
    async with stage:
        await stage.show("long")
        page = stage.page
        stage.server.script(hang())
        stage.say("Go on")
        await stage.until(lambda: any(turn.note for turn in page.view.live.turns))
        page.composer.stop_button.click()
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "stopped"
        assert not any(turn.note for turn in page.view.live.turns)
        assert not any(row.compacted for row in stage.services.db.read_messages("long", limit=60))
