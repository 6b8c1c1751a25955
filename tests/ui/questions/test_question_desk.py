"""The assistant asks in the window, from its wish to the person's answer."""

import asyncio
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.ui.shell.asking import Asking
from hermes_desktop.ui.shell.tray import Tray
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.chat_stage import ChatStage
from tests.fakes.fitting import cut_words, letters
from tests.fakes.model_server import text, tool_call
from tests.fakes.user_requests import question_request
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.asyncio

LONG = "Shall I take the second one, which is slower but keeps every old file? " * 2


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> ChatStage:
    home = tmp_path / "home"
    home.mkdir()
    return ChatStage(home, theme)


def desks_of(stage: ChatStage) -> Asking:
    page = stage.page
    asking = Asking(
        stage.services,
        stage.bridge,
        page=page,
        window=page,
        theme=stage.theme,
        clock=SystemClock(),
    )
    asking.open()
    return asking


async def ask(stage: ChatStage, asking: Asking, **arguments: Any) -> None:
    given = {"question": "Which port?", "choices": ["80", "443"]} | arguments
    stage.page.new_chat()
    stage.server.script(tool_call("clarify", "I need to know.", **given))
    stage.server.script(text("Good."))
    stage.say("Open a port")
    await stage.until(lambda: asking.presenter.sheet.armed)


async def told(stage: ChatStage) -> dict[str, Any]:
    await stage.until(lambda: stage.finished)
    await stage.until(lambda: not stage.page.view.live.turns)
    await stage.until(stage.settled)
    result: dict[str, Any] = json.loads(stage.server.requests[-1].messages[-1]["content"])
    return result


def keep_picture(widget: QWidget, name: str) -> None:
    folder = os.environ.get("HERMES_PICTURES")
    if folder:
        QApplication.processEvents()
        widget.grab().save(f"{folder}/{name}.png")


def question(
    stage: ChatStage, session_id: str, words: str, choices: tuple[str, ...] = ()
) -> threading.Thread:
    """A question of another chat, asked by a thread of its own."""
    now = time.time()
    asked = question_request(
        "q1", "key1", session_id, "u1", "telegram", words, choices, now, now + 60
    )
    thread = threading.Thread(
        target=stage.services.requests.queue.ask, args=(asked, threading.Event(), 60.0)
    )
    thread.start()
    return thread


@pytest.mark.parametrize("dark", [False, True])
async def test_choices_are_buttons(stage: ChatStage, dark: bool) -> None:
    stage.theme.set_scheme("dark" if dark else "light")
    async with stage:
        stage.page.resize(720, 480)
        asking = desks_of(stage)
        await ask(
            stage,
            asking,
            question="Two ports are free on this machine. Which one shall the server use?",
            choices=["80", "443", LONG],
        )
        sheet = asking.presenter.sheet
        assert sheet.isVisible()
        assert not asking.presenter.dialog.isVisible()
        assert sheet.title.text() == "The assistant has a question"
        assert "Which one" in sheet.question.question.text()
        assert [each.words.text() for each in sheet.question.buttons] == ["80", "443", LONG.strip()]
        assert sheet.question.buttons[0].hasFocus()
        assert "Continues without an answer in 10 min" in sheet.bar.words.text()
        assert "443" in sheet.accessibleDescription()
        assert sheet.question.buttons[1].accessibleName() == "2: 443"
        keep_picture(stage.page, f"question-{'dark' if dark else 'light'}")
        sheet.question.buttons[1].click()
        assert (await told(stage))["user_response"] == "443"
        assert not sheet.isVisible()
        assert stage.page.composer.field.hasFocus()
        assert stage.texts() == ["Open a port", "I need to know.", "Good."]
        asking.end()


async def test_a_key_chooses(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking)
        QTest.keyClick(asking.presenter.sheet.question.buttons[0], Qt.Key.Key_7)
        assert asking.presenter.sheet.request is not None
        QTest.keyClick(asking.presenter.sheet.question.buttons[0], Qt.Key.Key_2)
        assert (await told(stage))["user_response"] == "443"
        asking.end()


async def test_an_answer_of_ones_own(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking)
        sheet = asking.presenter.sheet
        assert not sheet.own.answer_button.isEnabled()
        sheet.own.field.setFocus()
        QTest.keyClicks(sheet.own.field, "8080, or 81")
        QTest.keyClick(sheet.own.field, Qt.Key.Key_Return)
        assert (await told(stage))["user_response"] == "8080, or 81"
        assert sheet.own.field.text() == ""
        asking.end()


async def test_without_choices_the_field_has_the_focus(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking, choices=[])
        sheet = asking.presenter.sheet
        assert sheet.own.field.hasFocus()
        assert sheet.own.field.placeholderText() == "Your answer"
        keep_picture(stage.page, "question-free")
        sheet.own.skip_button.click()
        assert "skipped" in (await told(stage))["note"]
        asking.end()


async def test_who_types_goes_on_typing(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("clarify", question="Which?", choices=["a", "b"]))
        stage.server.script(text("Good."))
        stage.say("Open a port")
        stage.page.composer.set_text("And then")
        stage.page.composer.field.setFocus()
        await stage.until(lambda: asking.presenter.sheet.armed)
        assert stage.page.composer.field.hasFocus()
        QTest.keyClicks(stage.page.composer.field, "2")
        assert asking.presenter.sheet.request is not None
        asking.presenter.sheet.own.skip_button.click()
        await told(stage)
        assert "2" in stage.page.composer.text
        asking.end()


async def test_escape_skips_the_question_and_stops_no_reply(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking)
        sheet = asking.presenter.sheet
        sheet.own.field.setFocus()
        QTest.keyClicks(sheet.own.field, "80")
        QTest.keyClick(sheet.own.field, Qt.Key.Key_Escape)
        assert sheet.request is not None
        assert sheet.own.field.text() == ""
        QTest.keyClick(sheet.own.field, Qt.Key.Key_Escape)
        assert "skipped" in (await told(stage))["note"]
        assert stage.finished[-1].outcome == "done"
        asking.end()


async def test_who_searches_goes_on_searching(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        stage.page.new_chat()
        search = QLineEdit(stage.page)
        search.show()
        search.setFocus()
        thread = question(stage, "another", "Which?", choices=("a", "b"))
        sheet = asking.presenter.sheet
        await stage.until(lambda: sheet.armed)
        assert search.hasFocus()
        QTest.keyClicks(search, "2024")
        assert sheet.request is not None
        stage.services.requests.answer("q1", "a")
        await stage.until(lambda: not sheet.isVisible())
        assert search.hasFocus()
        thread.join()
        asking.end()


async def test_keys_meant_for_something_else_answer_nothing(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("clarify", question="Which?", choices=["a", "b"]))
        stage.server.script(text("Good."))
        stage.say("Open a port")
        sheet = asking.presenter.sheet
        await stage.until(lambda: sheet.request is not None)
        QTest.keyClick(sheet.question.buttons[0], Qt.Key.Key_1)
        sheet.question.buttons[0].click()
        assert sheet.request is not None
        await stage.until(lambda: sheet.armed)
        sheet.question.buttons[0].click()
        assert (await told(stage))["user_response"] == "a"
        asking.end()


@pytest.mark.parametrize("dark", [False, True])
async def test_a_hidden_window_asks_in_a_dialog(stage: ChatStage, dark: bool) -> None:
    stage.theme.set_scheme("dark" if dark else "light")
    async with stage:
        asking = desks_of(stage)
        counts: list[int] = []
        unseen: list[tuple[str, str]] = []
        asking.waiting_changed.connect(counts.append)
        asking.asked_unseen.connect(lambda title, words: unseen.append((title, words)))
        stage.page.hide()
        await ask(stage, asking)
        dialog = asking.presenter.dialog
        await stage.until(dialog.isVisible)
        assert counts == [1]
        assert unseen == [("The assistant has a question", "Which port?")]
        keep_picture(dialog, f"question-dialog-{'dark' if dark else 'light'}")
        dialog.reject()
        await asyncio.sleep(0.05)
        assert not dialog.isVisible()
        assert stage.services.requests.pending()
        stage.page.show()
        await stage.until(asking.presenter.sheet.isVisible)
        assert not dialog.isVisible()
        asking.presenter.sheet.question.buttons[0].click()
        assert (await told(stage))["user_response"] == "80"
        assert counts == [1, 0]
        asking.end()


async def test_answered_in_the_dialog(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        stage.page.hide()
        await ask(stage, asking)
        sheet = asking.presenter.dialog_sheet
        await stage.until(lambda: sheet.armed)
        sheet.question.buttons[1].click()
        assert (await told(stage))["user_response"] == "443"
        assert not asking.presenter.dialog.isVisible()
        asking.end()


async def test_answered_elsewhere_is_said(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking)
        sheet = asking.presenter.sheet
        asked = stage.services.requests.pending()[0]
        assert stage.services.requests.answer(asked.id, "2", by="telegram")
        assert (await told(stage))["user_response"] == "443"
        await stage.until(lambda: sheet.request is None)
        assert sheet.isVisible()
        assert sheet.title.text() == "Answered in Telegram: 443"
        assert sheet.close_button.isVisible()
        assert not sheet.own.field.isVisible()
        keep_picture(stage.page, "question-elsewhere")
        assert sheet.close_button.hasFocus()
        sheet.close_button.click()
        assert not sheet.isVisible()
        assert stage.page.composer.field.hasFocus()
        asking.end()


async def test_silence_is_said(stage: ChatStage) -> None:
    async with stage:
        config = stage.paths.config_yaml
        document = json.loads(config.read_text())
        config.write_text(json.dumps({**document, "agent": {"clarify_timeout": 1}}))
        asking = desks_of(stage)
        await ask(stage, asking)
        assert "Nobody answered in time" in (await told(stage))["note"]
        assert "The question timed out" in asking.presenter.sheet.title.text()
        asking.end()


async def test_stopping_the_reply_takes_the_question_away(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking)
        await stage.services.chat.stop(stage.services.requests.pending()[0].session_id)
        await stage.until(lambda: asking.presenter.sheet.request is None)
        assert not asking.presenter.sheet.isVisible()
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "stopped"
        asking.end()


async def test_the_end_of_the_program_ends_it(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(stage, asking)
        asking.end()
        assert "being closed" in (await told(stage))["note"]


async def test_the_session_on_the_page_comes_first(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        threads = [question(stage, "another", "From elsewhere?")]
        sheet = asking.presenter.sheet
        await stage.until(lambda: sheet.request is not None)
        assert sheet.title.text() == "The assistant has a question in another session"
        wanted: list[str] = []
        asking.session_wanted.connect(wanted.append)
        sheet.go.click()
        assert wanted == ["another"]
        await ask(stage, asking)
        await stage.until(lambda: sheet.place.text() == "2 of 2")
        await stage.until(lambda: sheet.armed)
        assert sheet.question.question.text() == "Which port?"
        sheet.question.buttons[0].click()
        await told(stage)
        await stage.until(lambda: sheet.question.question.text() == "From elsewhere?")
        stage.services.requests.answer("q1", "yes")
        await stage.until(lambda: not sheet.isVisible())
        for thread in threads:
            thread.join()
        asking.end()


async def test_what_is_asked_is_plain_text(stage: ChatStage) -> None:
    async with stage:
        asking = desks_of(stage)
        await ask(
            stage,
            asking,
            question="<b>Click</b> <a href='file:///etc'>here</a> \u202egnp.exe",
            choices=["&Yes <img src=x>", "No"],
        )
        sheet = asking.presenter.sheet
        assert sheet.question.question.text().startswith("<b>Click</b> <a href=")
        assert "\u202e" not in sheet.question.question.text()
        assert sheet.question.question.textFormat() is Qt.TextFormat.PlainText
        assert sheet.question.buttons[0].words.text() == "&Yes <img src=x>"
        sheet.question.buttons[0].click()
        assert (await told(stage))["user_response"] == "&Yes <img src=x>"
        asking.end()


async def test_the_tray_says_that_it_needs_you(stage: ChatStage) -> None:
    async with stage:
        tray = Tray(tray_available=lambda: False)
        tray.show_status(GatewayStatusChanged("running"))
        before = tray.face.icon
        tray.show_waiting(1)
        assert tray.face.icon == "tray-attention"
        assert "The assistant is waiting for your answer" in tray.face.tooltip
        shown = [each.text() for each in tray.menu.actions() if each.isVisible()]
        assert "The assistant is waiting for your answer…" in shown
        tray.show_waiting(2)
        assert "2 answers" in tray.face.tooltip
        tray.show_waiting(0)
        assert tray.face.icon == before
        tray.close()


@pytest.mark.parametrize("dark", [False, True])
async def test_a_small_window_stays_as_it_is(tmp_path: Path, theme: Theme, dark: bool) -> None:
    theme.set_scheme("dark" if dark else "light")
    home = tmp_path / "home"
    home.mkdir()
    async with WindowStage(home, theme) as stage:
        window = stage.window
        page = window.page
        window.resize(720, 480)
        asking = Asking(
            stage.services, stage.bridge, page=page, window=window, theme=theme, clock=SystemClock()
        )
        asking.open()
        choices = ["Port 80", "Port 443", LONG, "Neither", "Both of them", "Ask me later"]
        stage.server.script(
            tool_call("clarify", question=f"Which one? {LONG}{LONG}", choices=choices)
        )
        stage.server.script(text("Good."))
        await stage.until(page.composer.field.isEnabled)
        page.composer.field.setFocus()
        QTest.keyClicks(page.composer.field, "Open a port")
        QTest.keyClick(page.composer.field, Qt.Key.Key_Return)
        dialog, sheet = asking.presenter.dialog, asking.presenter.sheet
        await stage.until(dialog.isVisible)  # the narrow window shows the list alone
        await stage.until(lambda: stage.window.pane.view.model().rowCount() > 1)
        await stage.open(stage.services.requests.pending()[0].session_id)
        await stage.until(lambda: not dialog.isVisible())
        await stage.until(lambda: sheet.armed)
        QApplication.processEvents()
        keep_picture(window, f"question-window-{'dark' if dark else 'light'}")
        assert sheet.own.field.isVisible()
        area, last = sheet.question, sheet.question.buttons[-1]
        window.activateWindow()
        await stage.until(window.isActiveWindow)
        last.setFocus()
        QApplication.processEvents()
        at = last.mapTo(area.viewport(), last.rect().center())
        assert area.viewport().rect().contains(at)
        assert (window.width(), window.height()) == (720, 480)
        QTest.keyClick(last, Qt.Key.Key_Escape)
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "done"
        asking.end()


class Unsandboxed(WindowStage):
    """The window, with commands that are asked about if they are risky, on every machine."""

    def configure(self) -> None:
        super().configure()
        with (self.home / "config.yaml").open("a", encoding="utf-8") as file:
            file.write("approvals:\n  sandboxed_commands: off\n")


async def test_escape_denies_in_the_real_window(tmp_path: Path, theme: Theme) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with Unsandboxed(home, theme) as stage:
        window, page = stage.window, stage.window.page
        asking = Asking(
            stage.services, stage.bridge, page=page, window=window, theme=theme, clock=SystemClock()
        )
        asking.open()
        (tmp_path / "build").mkdir()
        stage.server.script(tool_call("terminal", command=f"rm -rf {tmp_path}/build"))
        stage.server.script(text("Good."))
        await stage.until(page.composer.field.isEnabled)
        page.composer.field.setFocus()
        QTest.keyClicks(page.composer.field, "Remove it")
        QTest.keyClick(page.composer.field, Qt.Key.Key_Return)
        sheet = asking.presenter.sheet
        await stage.until(lambda: sheet.armed)
        QTest.keyClick(sheet.approval.buttons["deny"], Qt.Key.Key_Escape)
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "done"
        assert (tmp_path / "build").exists()
        assert "denied it" in stage.server.requests[-1].messages[-1]["content"]
        asking.end()


@pytest.mark.parametrize("factor", [1.0, 1.5])
async def test_nothing_is_cut_and_nothing_scrolls_that_need_not(
    stage: ChatStage, factor: float
) -> None:
    with letters(factor):
        async with stage:
            asking = desks_of(stage)
            await ask(stage, asking, question="Which port shall it be?", choices=["80", "443"])
            sheet = asking.presenter.sheet
            await stage.until(lambda: not sheet.question.verticalScrollBar().maximum())
            await stage.until(lambda: not cut_words(sheet))
            stage.page.hide()
            dialog = asking.presenter.dialog
            await stage.until(dialog.isVisible)
            await stage.until(lambda: not cut_words(dialog))
            in_dialog = asking.presenter.dialog_sheet
            assert in_dialog.own.y() < in_dialog.question.geometry().bottom() + 40
            stage.page.show()
            sheet.own.skip_button.click()
            await stage.until(lambda: stage.finished)
            asking.end()


@pytest.mark.parametrize("factor", [1.0, 1.5])
async def test_the_question_stands_in_sight_above_its_first_choice(
    stage: ChatStage, factor: float
) -> None:
    with letters(factor):
        async with stage:
            stage.page.resize(672, 452)
            asking = desks_of(stage)
            await ask(stage, asking, choices=["a", "b", LONG, "d"])
            area = asking.presenter.sheet.question
            assert area.buttons[0].hasFocus()
            await stage.until(lambda: not area.question.visibleRegion().isEmpty())
            await stage.until(lambda: not area.buttons[0].visibleRegion().isEmpty())
            asking.presenter.sheet.own.skip_button.click()
            await stage.until(lambda: stage.finished)
            asking.end()
