"""The page on a real home: looking, writing, following, and other programs in between."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox

from hermes_desktop.core.events import TurnDelta, TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.ui.chat.link_confirmation import LinkQuestion
from hermes_desktop.ui.transcript.blocks.fold import LabelRow
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.separators import FailureBlock
from tests.fakes.model_server import cut_after, error, hang, text

pytestmark = pytest.mark.asyncio


async def test_selecting_shows_and_changes_nothing(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.", source="telegram", model="gpt-x")
        stage.services.db.end_session("s", "idle")
        before = stage.services.db.get_session("s")
        await stage.show("s")
        assert stage.texts() == ["Which train?", "The 6:12."]
        assert stage.page.header.title.text() == "Which train?"
        assert stage.page.header.facts.text().startswith("Telegram · 2 messages · ")
        assert "gpt-x" in stage.page.header.facts.text()
        assert "not sent to Telegram" in stage.page.composer.note.text()
        assert stage.page.current_session_id == "s"
        assert stage.services.db.get_session("s") == before


async def test_a_new_chat_gets_its_id_and_its_streamed_reply(stage, qtbot) -> None:
    async with stage:
        stage.page.new_chat()
        assert stage.page.empty.title.text() == "Start a session"
        caption = stage.page.empty.caption
        await stage.until(lambda: caption.text().startswith("fake-model answers."))
        assert stage.page.current_session_id is None
        opened: list[str] = []
        stage.page.session_opened.connect(opened.append)
        stage.server.script(text("The **6:12** is early.", delay=0.03))
        stage.say("Which train?")
        await stage.until(lambda: stage.texts()[-1].startswith("The") if stage.texts() else False)
        assert stage.texts()[0] == "Which train?"
        assert stage.page.composer.text == ""
        assert stage.page.header.shown_state == "working"
        await stage.until(lambda: stage.finished)
        await stage.until(lambda: not stage.page.view.live.turns)
        assert stage.texts() == ["Which train?", "The 6:12 is early."]
        assert opened == [stage.page.current_session_id]
        assert stage.page.header.shown_state == ""
        assert stage.page.header.title.text() == "Which train?"
        rows = stage.services.db.read_messages(opened[0])
        assert [row.role for row in rows] == ["user", "assistant"]


async def test_an_empty_session_says_so_until_something_is_said(stage) -> None:
    async with stage:
        stage.make_session("s")
        await stage.show("s")
        assert stage.page.empty.isVisible()
        assert stage.page.empty.title.text() == "No messages yet"
        await stage.say_and_wait("Which train?")
        assert not stage.page.empty.isVisible()
        await stage.until(lambda: len(stage.texts()) == 2)
        assert stage.page.current_session_id == "s"


async def test_a_session_is_gone_on_with_in_its_context(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        finished = await stage.say_and_wait("And back?")
        assert finished.outcome == "done"
        await stage.until(lambda: len(stage.texts()) == 4 and not stage.page.view.live.turns)
        assert stage.texts()[-2:] == ["And back?", "You said: And back?"]
        sent = [message["content"] for message in stage.server.requests[0].messages]
        assert sent[-3:] == ["Which train?", "The 6:12.", "And back?"]


async def test_messages_wait_for_the_reply_before_them(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        stage.server.script(text("One two three four", delay=0.05), text("Five"))
        stage.say("First")
        await stage.until(lambda: stage.texts()[-1].startswith("One"))
        stage.say("Second")
        await stage.until(lambda: "Second" in stage.texts())
        await stage.until(lambda: len(stage.finished) == 2)
        await stage.until(lambda: not stage.page.view.live.turns)
        assert stage.texts()[-4:] == ["First", "One two three four", "Second", "Five"]


async def test_switching_away_and_back_while_a_reply_is_written(stage) -> None:
    async with stage:
        stage.make_session("a", "About a", "Yes.")
        stage.make_session("b", "About b", "No.")
        await stage.show("a")
        stage.server.script(text("One two three four five six", delay=0.06))
        stage.say("Count")
        await stage.until(lambda: stage.texts()[-1].startswith("One"))
        await stage.show("b")
        await stage.until(lambda: stage.texts() == ["About b", "No."])
        assert stage.page.header.shown_state == ""
        await stage.show("a")
        await stage.until(lambda: stage.texts()[-2:-1] == ["Count"])
        assert stage.page.header.shown_state == "working"
        await stage.until(lambda: stage.texts()[-1].startswith("One two"))
        await stage.until(lambda: stage.finished and not stage.page.view.live.turns)
        assert stage.texts() == ["About a", "Yes.", "Count", "One two three four five six"]


async def test_two_sessions_are_answered_at_once(stage) -> None:
    async with stage:
        for name in ("a", "b"):
            stage.make_session(name, f"About {name}", "Yes.")
        stage.server.script(text("slow " * 30, delay=0.05), text("quick"))
        await stage.show("a")
        stage.say("Question a")
        await stage.until(lambda: stage.texts()[-1].startswith("slow"))
        await stage.show("b")
        await stage.say_and_wait("Question b")
        await stage.until(lambda: stage.texts()[-1] == "quick")
        assert stage.services.chat.is_running("a")


async def test_stopping_with_escape_keeps_what_came(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        stage.server.script(hang("The beginning"))
        stage.say("Tell")
        await stage.until(lambda: stage.texts()[-1] == "The beginning")
        assert stage.page.composer.stop_button.isVisible()
        QTest.keyClick(stage.page.composer.field, Qt.Key.Key_Escape)
        await stage.until(lambda: stage.finished)
        assert stage.finished[0].outcome == "stopped"
        await stage.until(lambda: not stage.page.composer.stop_button.isVisible())
        assert stage.texts()[-1] == "The beginning"


async def test_what_another_program_writes_appears(stage) -> None:
    async with stage:
        stage.make_session("s", *(f"Text {n}" for n in range(60)))
        await stage.show("s")
        await stage.until(lambda: len(stage.texts()) == 60)
        bar = stage.page.view.area.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        place = bar.value()
        with stage.another_program() as db:
            db.append_message("s", "user", "A foreign word")
        await stage.until(lambda: stage.texts()[-1] == "A foreign word")
        assert bar.value() == place
        assert stage.page.header.facts.text().startswith("Terminal · 61 messages")


async def test_a_session_that_is_deleted_keeps_what_was_typed(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        await stage.services.watch.look()  # what came and went between two looks is no news
        stage.page.composer.set_text("Half a thought")
        with stage.another_program() as db:
            db._execute_write(lambda c: c.execute("DELETE FROM messages WHERE session_id='s'"))
            db._execute_write(lambda c: c.execute("DELETE FROM sessions WHERE id='s'"))
        await stage.until(lambda: stage.page.empty.title.text() == "This session was deleted")
        assert stage.page.composer.text == "Half a thought"
        assert stage.page.current_session_id is None
        finished = await stage.say_and_wait("Half a thought")
        assert finished.outcome == "done"
        assert finished.session_id != "s"


async def test_a_session_deleted_during_its_reply_gives_the_question_back(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        await stage.services.watch.look()  # what came and went between two looks is no news
        stage.server.script(hang("The"))
        stage.say("And the one after?")
        await stage.until(lambda: stage.texts() and stage.texts()[-1].startswith("The"))
        with stage.another_program() as db:
            db._execute_write(lambda c: c.execute("DELETE FROM messages WHERE session_id='s'"))
            db._execute_write(lambda c: c.execute("DELETE FROM sessions WHERE id='s'"))
        await stage.until(lambda: stage.page.empty.title.text() == "This session was deleted")
        assert stage.page.composer.text == "And the one after?"


async def test_renaming_in_place_and_a_title_that_is_taken(stage) -> None:
    async with stage:
        stage.make_session("a", "About a", "Yes.", title="First")
        stage.make_session("b", "About b", "Yes.", title="Second")
        await stage.show("a")
        header = stage.page.header
        header.title.click()
        assert header.edit.isVisible()
        header.edit.setText("Renamed")
        QTest.keyClick(header.edit, Qt.Key.Key_Return)
        await stage.until(lambda: header.title.text() == "Renamed")
        assert stage.services.db.get_session_title("a") == "Renamed"
        header.begin_rename()
        header.edit.setText("Second")
        QTest.keyClick(header.edit, Qt.Key.Key_Return)
        await stage.until(lambda: stage.notices)
        assert stage.notices[0].level == "error"
        assert header.title.text() == "Renamed"
        header.begin_rename()
        QTest.keyClick(header.edit, Qt.Key.Key_Escape)
        assert not header.edit.isVisible()


async def test_only_the_last_of_quick_selections_is_shown(stage) -> None:
    async with stage:
        for name in ("a", "b", "c"):
            stage.make_session(name, f"About {name}", "Yes.")
        summaries = [await stage.services.catalog.summary(name) for name in ("a", "b", "c")]
        await asyncio.gather(*(stage.page.show_session(summary) for summary in summaries))
        await stage.until(lambda: stage.texts() == ["About c", "Yes."])
        assert stage.page.current_session_id == "c"
        assert not stage.page.view.veil.isVisible()


async def test_older_messages_are_read_when_scrolled_to(stage) -> None:
    async with stage:
        stage.make_session("s", *(f"Text {n}" for n in range(200)))
        await stage.show("s")
        await stage.until(lambda: len(stage.texts()) == 60)
        bar = stage.page.view.area.verticalScrollBar()
        while "Text 0" not in stage.texts():
            bar.setValue(0)
            await asyncio.sleep(0.02)
        assert stage.texts() == [f"Text {n}" for n in range(200)]


async def test_without_a_model_the_composer_says_what_to_set(stage) -> None:
    stage.configured = False
    async with stage:
        stage.page.new_chat()
        composer = stage.page.composer
        await stage.until(composer.reason.isVisible)
        assert not composer.field.isEnabled()
        assert composer.reason.title.text()
        assert composer.reason.words.text()
        wanted: list[str] = []
        composer.settings_wanted.connect(wanted.append)
        composer.reason.settings_button.click()
        assert wanted == ["model.default"]
        assert "`" not in composer.reason.words.text()
        stage.configure()
        composer.reason.check_button.click()
        await stage.until(composer.field.isEnabled)
        assert not composer.reason.isVisible()


async def test_an_endpoint_that_refuses_says_why_and_can_be_asked_again(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        stage.server.script(error(401, "Bad key."), text("At eight."))
        finished = await stage.say_and_wait("And back?")
        assert finished.outcome == "failed"
        await stage.until(
            lambda: isinstance(stage.page.view.area.column.items[-1].widget, FailureBlock)
        )
        block = stage.page.view.area.column.items[-1].widget
        assert "Bad key." in block.accessibleName()
        assert "`" not in block.accessibleName()
        wanted: list[str] = []
        stage.page.view.settings_wanted.connect(lambda page, _: wanted.append(page))
        block.retry.buttons[1].click()
        assert f"Settings, {wanted[0].title()}" in block.accessibleName()
        assert stage.texts()[-1] == "And back?"
        block = stage.page.view.area.column.items[-1].widget
        block.retry.button.click()
        await stage.until(lambda: len(stage.finished) == 2)
        await stage.until(lambda: stage.texts()[-1] == "At eight.")
        kinds = [type(item.widget) for item in stage.page.view.area.column.items]
        assert FailureBlock not in kinds
        told = [each["content"] for each in stage.server.requests[-1].messages]
        assert told.count("And back?") == 1, "what failed is not in the session twice"
        await stage.until(lambda: stage.texts().count("And back?") == 1)


async def test_a_failure_is_still_there_after_looking_elsewhere(stage) -> None:
    async with stage:
        for name in ("a", "b"):
            stage.make_session(name, f"About {name}", "Yes.")
        await stage.show("a")
        stage.server.script(cut_after("one two three four", 2))
        await stage.say_and_wait("Tell")
        await stage.show("b")
        await stage.show("a")
        await stage.until(
            lambda: isinstance(stage.page.view.area.column.items[-1].widget, FailureBlock)
        )
        assert stage.texts().count("Tell") == 1


def shown_kinds(stage) -> list[str]:
    """The texts of the messages, and the other lines below the first message, top to bottom."""
    found = []
    for item in stage.page.view.area.column.items:
        if isinstance(item.widget, FailureBlock):
            found.append("card")
        elif isinstance(item.widget, LabelRow):
            found.append(item.widget.label.text())
        elif isinstance(item.widget, MessageWidget):
            found.append("\n".join(part.text.toPlainText() for part in item.widget.segments))
    return found


async def test_each_failure_stays_with_its_message_until_that_succeeded(stage) -> None:
    no_credit = error(402, "Your credit balance is too low.")
    async with stage:
        stage.make_session("s", "Hello", "Yes.")
        await stage.show("s")
        stage.server.script(no_credit, no_credit, text("At eight."), text("At nine."))
        for number, words in enumerate(("First", "Second"), 1):
            stage.say(words)
            await stage.until(lambda number=number: shown_kinds(stage).count("card") == number)
        assert shown_kinds(stage)[-4:] == ["First", "card", "Second", "card"]
        stage.make_session("other", "About b", "Yes.")
        await stage.show("other")
        await stage.show("s")
        await stage.until(lambda: shown_kinds(stage)[-4:] == ["First", "card", "Second", "card"])

        cards = [item.widget for item in stage.page.view.area.column.items]
        cards = [widget for widget in cards if isinstance(widget, FailureBlock)]
        cards[1].retry.button.click()
        await stage.until(
            lambda: shown_kinds(stage)[-4:] == ["First", "card", "Second", "At eight."]
        )
        cards[0].retry.button.click()
        quiet = "No reply. The message was sent again below."
        end = ["First", quiet, "Second", "At eight.", "First", "At nine."]
        await stage.until(lambda: shown_kinds(stage)[-6:] == end)


async def test_advice_to_choose_another_model_leads_to_the_field(stage) -> None:
    async with stage:
        stage.make_session("s", "Hello", "Yes.")
        await stage.show("s")
        stage.server.script(error(402, "Your credit balance is too low."))
        await stage.say_and_wait("And back?")
        await stage.until(lambda: shown_kinds(stage)[-1] == "card")
        block = stage.page.view.area.column.items[-1].widget
        assert "choose another model" in block.accessibleName()
        wanted: list[tuple[str, str]] = []
        stage.page.view.settings_wanted.connect(lambda *place: wanted.append(place))
        assert [button.text() for button in block.retry.buttons] == [
            "Try again",
            "Choose another model",
        ]
        block.retry.buttons[1].click()
        assert wanted == [("assistant", "model.default")]


async def test_a_prompt_that_could_not_be_stored_comes_back(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        stage.bus.publish(TurnStarted("t", "k", "s", "My long question"))
        stage.page.composer.set_text("typed since")
        stage.bus.publish(
            TurnFinished("t", "k", "s", None, "failed", error_title="Locked.", stored=False)
        )
        assert stage.page.composer.text == "My long question\ntyped since"
        await stage.until(lambda: stage.texts() == ["Which train?", "The 6:12."])


async def test_a_prompt_of_another_session_that_could_not_be_stored_is_its_draft(stage) -> None:
    async with stage:
        for name in ("a", "b"):
            stage.make_session(name, f"About {name}", "Yes.")
        await stage.show("a")
        stage.bus.publish(TurnStarted("t", "k", "b", "Lost?"))
        stage.bus.publish(
            TurnFinished("t", "k", "b", None, "failed", error_title="Locked.", stored=False)
        )
        assert stage.page.composer.text == ""
        await stage.show("b")
        assert stage.page.composer.text == "Lost?"


async def test_drafts_are_kept_per_session(stage) -> None:
    async with stage:
        for name in ("a", "b"):
            stage.make_session(name, f"About {name}", "Yes.")
        await stage.show("a")
        stage.page.composer.set_text("draft of a")
        await stage.show("b")
        assert stage.page.composer.text == ""
        stage.page.composer.set_text("draft of b")
        stage.page.new_chat()
        assert stage.page.composer.text == ""
        await stage.show("a")
        assert stage.page.composer.text == "draft of a"
        await stage.show("b")
        assert stage.page.composer.text == "draft of b"


async def test_a_link_is_opened_only_after_the_whole_address_was_shown(stage) -> None:
    async with stage:
        stage.make_session("s", "Link?", "[my bank](https://evil.example/login?a=b)")
        await stage.show("s")
        page = stage.page
        for answer in ("cancel", "copy", "open"):
            page.view.link_wanted.emit("https://evil.example/login?a=b")
            dialog = await stage.dialog()
            assert isinstance(dialog, LinkQuestion)
            assert dialog.informativeText() == "https://evil.example/login?a=b"
            assert stage.opened == []
            buttons = {
                "cancel": dialog.button(QMessageBox.StandardButton.Cancel),
                "copy": dialog.copy_button,
                "open": dialog.open_button,
            }
            buttons[answer].click()
            await stage.until(lambda: not stage.dialogs())
        await stage.until(lambda: stage.opened == ["https://evil.example/login?a=b"])
        assert QGuiApplication.clipboard().text() == "https://evil.example/login?a=b"
        page.view.link_wanted.emit("file:///etc/passwd")
        await asyncio.sleep(0.05)
        assert stage.dialogs() == []


async def test_loading_signs_come_late_and_go(stage) -> None:
    async with stage:
        stage.page._signs.begin()
        assert not stage.page.view.veil.isVisible()
        stage.page._stack.setCurrentWidget(stage.page.view)
        await stage.until(stage.page.view.veil.isVisible)
        await stage.until(stage.page.view.veil.line.isVisible)
        stage.page._signs.end()
        assert not stage.page.view.veil.isVisible()


async def test_a_turn_of_another_window_of_time_is_shown_as_waiting(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        await stage.show("s")
        stage.bus.publish(TurnQueued("t", "k", "s", "Later"))
        assert stage.page.header.shown_state == "queued"
        assert stage.texts()[-1] == "Later"
        stage.bus.publish(TurnStarted("t", "k", "s", "Later"))
        stage.bus.publish(TurnDelta("t", "s", "Now."))
        await stage.until(lambda: stage.texts()[-2:] == ["Later", "Now."])
        stage.bus.publish(TurnFinished("t", "k", "s", None, "done", "Now."))


async def test_a_turn_that_starts_while_its_session_is_loading_is_shown_once(stage) -> None:
    async with stage:
        for name in ("a", "b"):
            stage.make_session(name, f"About {name}", "Yes.")
        await stage.show("a")
        summary = await stage.services.catalog.summary("b")
        opening = asyncio.ensure_future(stage.page.show_session(summary))
        await asyncio.sleep(0)
        stage.bus.publish(TurnStarted("t", "k", "b", "Early"))
        assert "Early" not in stage.texts()
        await opening
        await stage.until(lambda: stage.texts()[:1] == ["About b"])
        assert stage.texts().count("Early") == 1
        stage.bus.publish(TurnFinished("t", "k", "b", None, "done", "x"))


async def test_a_read_only_history_can_be_read_but_not_written(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
    with stage.another_program() as db:
        db._execute_write(lambda c: c.execute("UPDATE schema_version SET version = 5"))
    stage.server = type(stage.server)()
    async with stage:
        await stage.show("s")
        assert stage.texts() == ["Which train?", "The 6:12."]
        composer = stage.page.composer
        await stage.until(composer.reason.isVisible)
        assert not composer.field.isEnabled()
        assert not composer.reason.settings_button.isVisible()


async def test_a_session_that_cannot_be_opened_leaves_the_page_usable(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        summary = await stage.services.catalog.summary("s")
        stage.services.db._execute_write(lambda c: c.execute("DELETE FROM messages"))
        stage.services.db._execute_write(lambda c: c.execute("DELETE FROM sessions"))
        stage.slots.start(stage.page.show_session(summary), doing="Opening the session")
        await stage.until(lambda: stage.notices)
        assert stage.page.empty.title.text() == "No session is open"
        assert stage.page.current_session_id is None


async def test_find_and_copy_have_their_keys(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The **6:12**.")
        await stage.show("s")
        stage.page.activateWindow()
        field = stage.page.composer.field
        field.setFocus()
        QTest.keyClick(
            field,
            Qt.Key.Key_C,
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
        )
        assert QGuiApplication.clipboard().text() == "The **6:12**."
        QTest.keyClick(field, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        assert stage.page.view.find_bar.isVisible()
