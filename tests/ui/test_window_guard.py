"""The guard, seen from the window: another process works on the session that is open here."""

from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes import model_server
from tests.fakes.window_stage import WindowStage

pytestmark = [pytest.mark.two_processes, pytest.mark.slow]
SESSION = "20260101_120000_abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a long session, opened here, and forty others around it."""
    home = tmp_path / "home"
    home.mkdir()
    db = SessionDB(home / "state.db")
    for number in range(40):
        other = f"20260101_1000{number:02d}_aaaaaa"
        db.create_session(other, "cli")
        db.append_message(other, "user", f"Question number {number}", timestamp=1.7e9 + number)
    folder = tmp_path / "work"  # the same for both programs, so the model is told of no change
    folder.mkdir()
    db.create_session(SESSION, "cli", cwd=str(folder))
    for number in range(30):
        db.append_message(SESSION, "user", f"Question {number}", timestamp=1.7e9 + 100 + number)
        db.append_message(SESSION, "assistant", f"Answer {number}", timestamp=1.7e9 + 100 + number)
    db.close()
    return home


@pytest.mark.asyncio
async def test_a_turn_of_the_command_line_appears_and_is_known(qtbot, theme, home: Path) -> None:
    async with WindowStage(home, theme) as stage:
        stage.server.script(
            model_server.text("Noted, seven."),
            model_server.text("From the command line."),
            model_server.text("Seven and eight."),
            model_server.text("Nothing more."),
        )
        await stage.open(SESSION)
        first = await stage.type_and_send("Remember seven.")
        assert first.outcome == "done"
        await stage.until(lambda: "Noted, seven." in stage.shown_text())

        pane, view = stage.window.pane, stage.window.page.view
        selected = pane.selected_session
        assert selected is not None
        await stage.until(lambda: len(list(view.messages)) >= 60)  # older ones are laid out, too
        scroll = view.area.verticalScrollBar()
        scroll.setValue(scroll.maximum() // 2)
        place = scroll.value()
        await stage.command_line("chat", "-q", "And eight.", "--resume", SESSION)
        await stage.until(lambda: "From the command line." in stage.shown_text())
        assert scroll.value() == place
        assert pane.selected_session.id == selected.id
        assert stage.window.page.current_session_id == SESSION

        await stage.type_and_send("Which numbers?")
        assert stage.told()[-4:] == [
            "assistant: Noted, seven.",
            "user: And eight.",
            "assistant: From the command line.",
            "user: Which numbers?",
        ]
        await stage.type_and_send("Anything else?")
        earlier, later = (stage.server.requests[n].body for n in (-2, -1))
        assert later.startswith(earlier.removesuffix(b"]}"))
        assert earlier.endswith(b"]}")


@pytest.mark.asyncio
async def test_a_foreign_turn_while_ours_is_written(qtbot, theme, home: Path) -> None:
    async with WindowStage(home, theme) as stage:
        stage.server.script(
            model_server.text("Ours, slowly written down.", delay=0.4),
            model_server.text("Theirs."),
        )
        await stage.open(SESSION)
        command = None
        sending = stage.services.tasks.start(stage.type_and_send("Ours?"), name="typing")
        await stage.until(lambda: stage.server.requests)
        command = await stage.command_line("chat", "-q", "Theirs?", "--resume", SESSION)
        assert "Theirs." in command
        turn = await sending
        assert turn.reply == "Ours, slowly written down."
        await stage.until(lambda: "Theirs." in stage.shown_text())
        shown = stage.shown_text()
        assert shown.count("Ours, slowly written down.") == 1
        assert shown.count("Ours?") == 1
        await stage.type_and_send("Next.")
        told = "\n".join(stage.told())
        assert "Theirs?" in told
        assert "assistant: Ours, slowly written down." in stage.told() or "Ours, slowly" in told


@pytest.mark.asyncio
async def test_a_foreign_undo_and_a_rewrite_of_the_same_size(qtbot, theme, home: Path) -> None:
    async with WindowStage(home, theme) as stage:
        await stage.open(SESSION)
        await stage.type_and_send("Something wrong.")
        await stage.until(lambda: "You said: Something wrong." in stage.shown_text())
        foreign = SessionDB(home / "state.db")
        rows = foreign.get_messages(SESSION)
        foreign.rewind_to_message(SESSION, rows[-2]["id"])
        await stage.until(lambda: "Something wrong." not in stage.shown_text())
        await stage.type_and_send("Something right.")
        assert "user: Something wrong." not in stage.told()
        assert stage.told()[-1] == "user: Something right."

        kept = foreign.get_messages_as_conversation(SESSION)
        kept[0] = {**kept[0], "content": "Another beginning"}
        foreign.replace_messages(SESSION, kept)
        foreign.close()
        await stage.type_and_send("And then?")
        assert stage.told()[0] == "user: Another beginning"


@pytest.mark.asyncio
async def test_a_foreign_deletion_keeps_what_was_typed(qtbot, theme, home: Path) -> None:
    async with WindowStage(home, theme) as stage:
        await stage.open(SESSION)
        await stage.type_and_send("Hello.")
        stage.window.page.composer.field.setPlainText("half a thought")
        foreign = SessionDB(home / "state.db")
        foreign._execute_write(
            lambda conn: [
                conn.execute("DELETE FROM messages WHERE session_id = ?", (SESSION,)),
                conn.execute("DELETE FROM sessions WHERE id = ?", (SESSION,)),
            ]
        )
        foreign.close()
        view = stage.window.pane.view
        await stage.until(lambda: view.model().row_of_session(SESSION) < 0)
        assert stage.window.page.composer.text == "half a thought"
        assert len(stage.server.requests) == 1
