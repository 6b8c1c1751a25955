"""What a session used: by model, as bars, unknown where nobody knows."""

import os
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QWidget

from hermes_desktop.core.usage import Cost, ModelUsage
from hermes_desktop.services.agents.session_figures import SessionUsage
from hermes_desktop.ui.chat.header.usage_dialog import UsageDialog, show_usage
from hermes_desktop.ui.chat.header.usage_text import cost_text, share_words, total_words
from tests.fakes.chat_stage import ChatStage
from tests.fakes.fitting import cut_words, letters
from tests.fakes.model_server import text

LARGE = ModelUsage("gpt-x", "openrouter", "", 12, 10_000, 300, 2_000, cost_usd=0.25)
SMALL = ModelUsage("gpt-mini", "openrouter", "compression", 1, 900, 100)


def test_words() -> None:
    assert share_words(LARGE) == (
        "openrouter · 12 calls · 10,000 read, 2,000 from the cache, 300 written · $0.25"
    )
    assert share_words(SMALL) == (
        "openrouter · for summaries · 1 call · 900 read, 100 written · cost unknown"
    )
    assert total_words((LARGE, SMALL), 2) == (
        "13.3 k tokens · 13 calls · $0.25 for a part of it, the rest unknown · all 2 parts together"
    )
    assert total_words((), 1) == "No usage was recorded in this session."
    assert cost_text(Cost(0.0034, estimated=True)) == "about $0.0034"
    assert cost_text(Cost(0.0)) == "$0.00"
    half = replace(LARGE, cost_partial=True)
    assert share_words(half).endswith("$0.25 for a part of it, the rest unknown")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_compare_the_models(qtbot, theme, scheme) -> None:
    theme.set_scheme(scheme)
    page = QWidget()
    qtbot.addWidget(page)
    dialog = UsageDialog(theme, "Trip plan", SessionUsage((LARGE, SMALL)), page)
    assert [line.bar.share for line in dialog.lines] == [1.0, pytest.approx(1_000 / 12_300)]
    assert "gpt-x: 12.3 k tokens" in dialog.lines[0].accessibleName()
    folder = os.environ.get("HERMES_PICTURES")
    if folder:
        dialog.grab().save(f"{folder}/usage-{scheme}.png")


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_long_names_and_large_letters_fit(qtbot, theme, factor) -> None:
    long = ModelUsage(
        "a-maker/a-model-with-a-very-long-name-2026-preview", "its-endpoint", "", 3, 9_000, 99
    )
    with letters(factor):
        page = QWidget()
        qtbot.addWidget(page)
        page.resize(720, 480)
        dialog = UsageDialog(theme, "Trip plan " * 6, SessionUsage((LARGE, SMALL, long)), page)
        dialog.open()
        qtbot.waitUntil(lambda: not cut_words(dialog), timeout=60_000)
        edges = {line.bar.mapTo(dialog, line.bar.rect().topRight()).x() for line in dialog.lines}
        assert edges == {dialog.total.mapTo(dialog, dialog.total.rect().topRight()).x()}
        dialog.reject()


@pytest.mark.asyncio
async def test_of_a_real_turn(stage: ChatStage) -> None:
    async with stage:
        stage.page.new_chat()
        stage.server.script(text("Fine.", usage=(1_200, 30)))
        await stage.say_and_wait("How are you?")
        await stage.until(lambda: stage.page.shown_session)
        session = stage.page.shown_session
        assert session is not None
        await show_usage(stage.services.figures, session, stage.theme, stage.page)
        dialog = await stage.dialog()
        assert isinstance(dialog, UsageDialog)
        assert dialog.total.text().endswith("cost unknown")
        # Naming the session, on a thread of its own, may have been counted by now, too.
        assert "custom · 1 call · 1,200 read, 30 written" in dialog.lines[0].words.text()
        dialog.reject()
