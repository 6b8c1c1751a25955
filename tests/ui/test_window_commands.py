"""Commands that are typed into the window: answered there, never told to a model, never stored."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from hermes_desktop.agent.steering import Hint, with_hints
from hermes_desktop.state import SessionDB
from hermes_desktop.ui.transcript.blocks.tool_calls import result_text, succeeded
from hermes_desktop.ui.undo.undo_dialog import UndoDialog
from tests.fakes import model_server
from tests.fakes.window_stage import WindowStage

SESSION = "20260101_120000_abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    db = SessionDB(home / "state.db")
    db.create_session(SESSION, "cli")
    db.append_message(SESSION, "user", "First question", timestamp=1.7e9)
    db.append_message(SESSION, "assistant", "First answer", timestamp=1.7e9 + 1)
    db.close()
    return home


def undo_dialogs() -> list[UndoDialog]:
    shown = QApplication.topLevelWidgets()
    return [each for each in shown if isinstance(each, UndoDialog) and each.isVisible()]


@pytest.mark.asyncio
async def test_an_answer_appears_and_goes_when_the_conversation_goes_on(
    qtbot, theme, home: Path
) -> None:
    async with WindowStage(home, theme) as stage:
        stage.server.script(model_server.text("Second answer"))
        await stage.open(SESSION)
        helped = await stage.type_and_send("/help")
        await stage.until(lambda: "discard the last reply" in stage.shown_text())
        assert "New chat" not in helped.reply
        assert stage.window.page.composer.text == ""
        assert stage.server.requests == []

        await stage.type_and_send("Second question")
        await stage.until(lambda: "Second answer" in stage.shown_text())
        assert "/help" not in stage.shown_text()
        assert stage.told() == [
            "user: First question",
            "assistant: First answer",
            "user: Second question",
        ]

        composer = stage.window.page.composer
        QTest.keyClicks(composer.field, "/undo")
        QTest.keyClick(composer.field, Qt.Key.Key_Return)
        await stage.until(undo_dialogs)
        undo_dialogs()[0].undo_button.click()
        await stage.until(lambda: "Second answer" not in stage.shown_text())
        assert "First answer" in stage.shown_text()


@pytest.mark.asyncio
async def test_a_command_in_a_new_chat_begins_nothing(qtbot, theme, home: Path) -> None:
    async with WindowStage(home, theme) as stage:
        stage.server.script(model_server.text("An answer"))
        stage.window.page.new_chat()
        await stage.type_and_send("/version")
        await stage.until(lambda: "Hermes Desktop" in stage.shown_text())
        assert stage.services.db.session_count() == 1
        finished = await stage.type_and_send("A question")
        await stage.until(lambda: "An answer" in stage.shown_text())
        assert finished.outcome == "done"
        assert stage.told() == ["user: A question"]
        assert stage.services.db.session_count() == 2


@pytest.mark.asyncio
async def test_stop_is_heard_while_a_reply_is_written(qtbot, theme, home: Path) -> None:
    async with WindowStage(home, theme) as stage:
        stage.server.script(model_server.hang("Once upon"), model_server.text("Another answer"))
        await stage.open(SESSION)
        sending = stage.services.tasks.start(stage.type_and_send("Tell a story"), name="typing")
        await stage.until(lambda: "Once upon" in stage.shown_text())
        stopped = await stage.type_and_send("/stop")
        await sending
        await stage.until(lambda: len(stage.finished) == 2)
        assert {event.reply.partition(".")[0] for event in stage.finished} >= {"Stopped"}
        assert {event.outcome for event in stage.finished} == {"done", "stopped"}
        assert stopped in stage.finished
        assert "Once upon" in stage.shown_text()
        await stage.type_and_send("Something else")
        await stage.until(lambda: "Another answer" in stage.shown_text())


@pytest.mark.asyncio
async def test_what_was_done_beside_a_conversation_is_offered_and_opened(
    qtbot, theme, home: Path
) -> None:
    async with WindowStage(home, theme) as stage:
        stage.server.script(model_server.text("Tea is a drink."))
        await stage.open(SESSION)
        told = await stage.type_and_send("/background What is tea?")
        assert "without the context of this one" in told.reply
        notices = stage.window._notices
        await stage.until(lambda: notices.current is not None and notices.current.action)
        assert notices.current.action == "Open session"
        assert "What is tea?" in notices.current.title
        notices.act()
        await stage.until(lambda: "Tea is a drink." in stage.shown_text())
        assert stage.window.page.current_session_id != SESSION


def test_what_was_said_meanwhile_is_shown_with_the_tool() -> None:
    stored = with_hints('{"output": "done\\n", "exit_code": 0}', (Hint("rather tea " * 200),))
    assert succeeded(stored)
    assert result_text(stored).startswith("done\n\nYou said in the meantime: rather tea")
    assert not succeeded(with_hints('{"output": "", "exit_code": 3}', (Hint("x"),)))
