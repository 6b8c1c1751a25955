"""``/compress`` in the window: it is seen while it lasts, and can be stopped like a reply."""

import pytest

from tests.fakes.chat_stage import ChatStage
from tests.fakes.model_server import hang, text
from tests.ui.chat.test_context import with_window

TEXTS = [f"Number {number}. " + "word " * 240 for number in range(30)]


@pytest.mark.asyncio
async def test_it_is_shown_and_stopped(stage: ChatStage) -> None:
    with_window(stage, 8_000)
    stage.make_session("long", *TEXTS, source="desktop")
    async with stage:
        await stage.show("long")
        page = stage.page
        stage.server.script(hang())
        stage.say("/compress")
        await stage.until(lambda: any(turn.note for turn in page.view.live.turns))
        await stage.until(lambda: stage.server.requests)
        assert page.composer.stop_button.isVisible()
        page.composer.stop_button.click()
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].reply == "Stopped. The session was not changed."
        await stage.until(lambda: not page.composer.stop_button.isVisible())
        assert not any(row.compacted for row in stage.services.db.read_messages("long", limit=60))


@pytest.mark.asyncio
async def test_it_comes_to_its_end(stage: ChatStage) -> None:
    with_window(stage, 8_000)
    stage.make_session("long", *TEXTS, source="desktop")
    async with stage:
        await stage.show("long")
        stage.server.script(text("What was said so far."))
        stage.say("/compress")
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "done"
        assert "A summary now replaces" in stage.finished[-1].reply
        await stage.until(stage.settled)
        assert any(row.compacted for row in stage.services.db.read_messages("long", limit=60))
        stage.say("Go on")
        await stage.until(lambda: len(stage.finished) == 2)
        assert stage.finished[-1].outcome == "done"
