"""A question in the window, from the model's wish to the person's answer."""

import contextlib
import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.user_requests import ApprovalChoice, UserRequest
from hermes_desktop.ui.asking.request_presenter import RequestPresenter
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.chat_stage import ChatStage
from tests.fakes.fitting import cut_words, letters
from tests.fakes.model_server import hang, text, tool_call
from tests.fakes.user_requests import approval_request

pytestmark = pytest.mark.asyncio


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> ChatStage:
    home = tmp_path / "home"
    home.mkdir()
    made = ChatStage(home, theme)
    work = tmp_path / "work"
    (work / "build").mkdir(parents=True)

    def configure() -> None:
        model = {"default": "fake-model", "base_url": made.server.base_url, "provider": "custom"}
        config = {
            "model": model,
            "terminal": {"cwd": str(work)},
            "approvals": {"sandboxed_commands": "off"},
        }
        made.paths.config_yaml.write_text(json.dumps(config), encoding="utf-8")

    made.configure = configure  # type: ignore[method-assign]
    return made


def desk_of(stage: ChatStage) -> RequestPresenter:
    page = stage.page
    desk = RequestPresenter(
        stage.services.requests,
        stage.bridge,
        place=page.sheets,
        window=page,
        theme=stage.theme,
        clock=SystemClock(),
        shown=lambda: page.current_session_id,
    )
    desk.open()
    return desk


async def ask(stage: ChatStage, desk: RequestPresenter) -> None:
    stage.page.new_chat()
    stage.page.focus_composer()
    stage.server.script(tool_call("terminal", "I clean up.", command="rm -rf build"))
    stage.server.script(text("All clean."))
    stage.say("Remove build")
    await stage.until(lambda: desk.sheet.armed)


async def done(stage: ChatStage) -> None:
    await stage.until(lambda: stage.finished)
    await stage.until(lambda: not stage.page.view.live.turns)
    await stage.until(stage.settled)


def keep_picture(stage: ChatStage, name: str) -> None:
    folder = os.environ.get("HERMES_PICTURES")
    if folder:
        QApplication.processEvents()
        stage.page.grab().save(f"{folder}/{name}.png")


@pytest.mark.parametrize("dark", [False, True])
async def test_what_where_why_and_once(stage: ChatStage, tmp_path: Path, dark: bool) -> None:
    stage.theme.set_scheme("dark" if dark else "light")
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk)
        sheet = desk.sheet
        assert sheet.isVisible()
        assert not desk.dialog.isVisible()
        assert sheet.title.text() == "Allow this action?"
        assert sheet.approval.what.toPlainText() == "rm -rf build"
        assert sheet.approval.where.text() == f"terminal, in {tmp_path / 'work'}"
        assert "deletes folders" in sheet.approval.why.text()
        assert "Denied automatically in" in sheet.bar.words.text()
        assert sheet.approval.buttons["deny"].hasFocus()
        assert sheet.accessibleName()
        assert "rm -rf build" in sheet.accessibleDescription()
        keep_picture(stage, f"sheet-{'dark' if dark else 'light'}")
        sheet.approval.buttons["once"].click()
        await done(stage)
        assert not sheet.isVisible()
        assert not (tmp_path / "work" / "build").exists()
        assert stage.texts() == ["Remove build", "I clean up.", "All clean."]
        keep_picture(stage, f"after-{'dark' if dark else 'light'}")
        desk.close()


async def test_escape_denies(stage: ChatStage, tmp_path: Path) -> None:
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk)
        assert desk.sheet.approval.buttons["deny"].hasFocus()
        QTest.keyClick(desk.sheet.approval.buttons["deny"], Qt.Key.Key_Escape)
        await stage.until(lambda: desk.sheet.request is None)
        assert stage.page.composer.field.hasFocus()  # not on whatever comes next
        await done(stage)
        assert (tmp_path / "work" / "build").exists()
        assert "denied it" in stage.server.requests[-1].messages[-1]["content"]
        desk.close()


async def test_who_types_goes_on_typing(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", command="rm -rf build"))
        stage.server.script(text("Well."))
        stage.say("Remove build")
        stage.page.composer.set_text("And then")
        stage.page.composer.field.setFocus()
        await stage.until(lambda: desk.sheet.armed)
        assert stage.page.composer.field.hasFocus()
        desk.sheet.escape()
        await done(stage)
        assert stage.page.composer.text == "And then"
        desk.close()


async def test_a_hidden_window_asks_in_a_dialog(stage: ChatStage, tmp_path: Path) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.page.hide()
        await ask(stage, desk)
        await stage.until(desk.dialog.isVisible)
        stage.page.show()
        await stage.until(lambda: not desk.dialog.isVisible())
        assert desk.sheet.isVisible()
        stage.page.hide()
        await stage.until(desk.dialog.isVisible)
        await stage.until(lambda: desk.dialog_sheet.armed)
        desk.dialog.reject()
        await stage.until(lambda: stage.finished)
        assert not desk.dialog.isVisible()
        assert (tmp_path / "work" / "build").exists()
        desk.close()


async def test_stopping_the_reply_takes_the_question_away(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        await ask(stage, desk)
        session_id = stage.services.requests.pending()[0].session_id
        await stage.services.chat.stop(session_id)
        await stage.until(lambda: desk.sheet.request is None)
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "stopped"
        desk.close()


async def test_without_a_desk_nothing_waits(stage: ChatStage, tmp_path: Path) -> None:
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", command="rm -rf build"))
        stage.server.script(text("It was not allowed."))
        await stage.say_and_wait("Remove build")
        assert "nobody can be asked" in stage.server.requests[-1].messages[-1]["content"]
        assert (tmp_path / "work" / "build").exists()


async def test_what_is_said_after_a_tool_streams_below_what_was_said_before(
    stage: ChatStage,
) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        stage.server.script(tool_call("todo", "First I look."))
        stage.server.script(hang("Then I say"))
        stage.say("Go")
        await stage.until(lambda: stage.texts()[-1:] == ["Then I say"])
        await stage.until(lambda: stage.texts() == ["Go", "First I look.", "Then I say"])
        await stage.services.chat.stop(stage.page.current_session_id)
        await stage.until(lambda: stage.finished)
        await stage.until(stage.settled)
        assert stage.texts() == ["Go", "First I look.", "Then I say"]
        desk.close()


CHOICES: tuple[ApprovalChoice, ...] = ("once", "session", "always", "deny")
EVERY_CHOICE: tuple[ApprovalChoice, ...] = ("once", "session", "always", "outside", "deny")
LONG = "\n".join(f"rm -rf build/part_{n} && echo removed part {n}" for n in range(40))


def request(number: int, *, what: str = "rm -rf build", session_id: str = "s") -> UserRequest:
    return approval_request(
        f"r{number}", "k", session_id, "", "desktop", "terminal", what, "/home/otto",
        ("It deletes folders.",), CHOICES,
        time.time(), time.time() + 300,
    )  # fmt: skip


@contextlib.contextmanager
def asking(stage: ChatStage, *requests: UserRequest, timeout_s: float = 300.0):
    """Agents that wait, each on its thread."""
    queue = stage.services.requests.queue
    cancel = threading.Event()
    threads = [
        threading.Thread(target=queue.ask, args=(each, cancel, timeout_s)) for each in requests
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        cancel.set()
        for thread in threads:
            thread.join()


async def test_the_transcript_gives_way_to_a_long_command(stage: ChatStage) -> None:
    stage.make_session("s", *(f"Message {number} " + "word " * 60 for number in range(12)))
    async with stage:
        desk = desk_of(stage)
        stage.page.resize(720, 450)
        await stage.show("s")
        with asking(stage, request(1, what=LONG)):
            await stage.until(lambda: desk.sheet.armed)
            QApplication.processEvents()
            sheet, page = desk.sheet, stage.page
            assert page.height() == 450
            assert page.height() * 0.5 < page.sheets.height() <= page.height() * 0.6
            command, deny = sheet.approval.what, sheet.approval.buttons["deny"]
            assert command.height() >= 4 * command.fontMetrics().lineSpacing()
            assert command.verticalScrollBar().maximum() > 0
            bottom = deny.mapTo(page, deny.rect().bottomLeft())
            assert bottom.y() < page.composer.y()
            keep_picture(stage, "sheet-small")
        await stage.until(lambda: desk.sheet.request is None)
        assert not page.sheets.isVisible()
        desk.close()


@pytest.mark.parametrize("what", ["rm -rf build", LONG])
@pytest.mark.parametrize(
    ("session_id", "choices"), [("s", CHOICES), ("other", CHOICES), ("other", EVERY_CHOICE)]
)
async def test_the_buttons_are_whole_in_the_smallest_window_with_16_points(
    stage: ChatStage, what: str, session_id: str, choices: tuple[ApprovalChoice, ...]
) -> None:
    stage.make_session("s", *(f"Message {number} " + "word " * 60 for number in range(12)))
    with letters(16 / QApplication.font().pointSizeF()):
        async with stage:
            desk = desk_of(stage)
            stage.page.setMinimumSize(672, 452)  # as in a window of 720 by 480
            stage.page.resize(672, 452)
            await stage.show("s")
            asked = replace(request(1, what=what, session_id=session_id), choices=choices)
            with asking(stage, asked):
                await stage.until(lambda: desk.sheet.armed)
                QApplication.processEvents()
                sheet = desk.sheet
                keep_picture(stage, f"sheet-16-points-{len(what)}-{session_id}")
                assert stage.page.height() == 452
                for button in [*sheet.approval.buttons.values(), sheet.go]:
                    if button.isVisible():
                        assert button.visibleRegion().boundingRect() == button.rect(), button.text()
                        assert button.size() == button.sizeHint()
                shown = sheet.approval
                line = shown.what.fontMetrics().lineSpacing()
                assert shown.what.viewport().visibleRegion().boundingRect().height() > line + 8
                area, command = shown.verticalScrollBar(), shown.what.verticalScrollBar()
                assert (command.maximum() > 0) == (what == LONG)
                area.setValue(area.maximum())
                assert shown.where.visibleRegion().boundingRect() == shown.where.rect()
            await stage.until(lambda: desk.sheet.request is None)
            desk.close()


async def test_the_sheet_stands_on_the_column_of_the_messages(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.resize(1400, 720)
        stage.page.new_chat()
        with asking(stage, request(1)):
            await stage.until(lambda: desk.sheet.armed)
            QApplication.processEvents()
            frame = stage.page.composer.field.parentWidget()
            what = desk.sheet.approval.what
            left = [w.mapTo(stage.page, w.rect().topLeft()).x() for w in (frame, what)]
            assert left[0] == left[1]
            assert what.width() == frame.width() == 760
        await stage.until(lambda: desk.sheet.request is None)
        desk.close()


async def test_several_questions_are_counted_and_can_be_looked_at(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        questions = [request(number, what=f"rm -rf build{number}") for number in (1, 2, 3)]
        with asking(stage, *questions):
            await stage.until(lambda: desk.sheet.place.text() == "1 of 3")
            await stage.until(lambda: desk.sheet.armed)
            first = desk.sheet.approval.what.toPlainText()
            desk.sheet.next.click()
            assert desk.sheet.place.text() == "2 of 3"
            assert desk.sheet.approval.what.toPlainText() != first
            assert not desk.sheet.armed  # what was meant for the first is not taken for this one
            keep_picture(stage, "sheet-several")
            await stage.until(lambda: desk.sheet.armed)
            desk.sheet.approval.buttons["once"].click()
            await stage.until(lambda: desk.sheet.place.text() == "1 of 2")
            assert desk.sheet.approval.what.toPlainText() == first
        await stage.until(lambda: desk.sheet.request is None)
        desk.close()


async def test_enter_that_was_meant_for_something_else_answers_nothing(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        with asking(stage, request(1)):
            await stage.until(lambda: desk.sheet.request is not None)
            for key in (Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Escape):
                QTest.keyClick(desk.sheet.approval.buttons["deny"], key)
            assert len(stage.services.requests.pending()) == 1
            await stage.until(lambda: desk.sheet.armed)
            QTest.keyClick(desk.sheet.approval.buttons["deny"], Qt.Key.Key_Return)
            await stage.until(lambda: not stage.services.requests.pending())
        await stage.until(lambda: desk.sheet.request is None)
        desk.close()


async def test_a_question_that_nobody_answered_says_so_until_it_is_closed(
    stage: ChatStage,
) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        with asking(stage, request(1), timeout_s=0.2):
            await stage.until(desk.sheet.close_button.isVisible)
            assert "timed out" in desk.sheet.title.text()
            assert desk.sheet.approval.what.toPlainText() == "rm -rf build"
            assert not desk.sheet.approval.buttons["once"].isVisible()
            keep_picture(stage, "sheet-over")
            desk.sheet.close_button.click()
            assert not desk.sheet.isVisible()
            assert not stage.page.sheets.isVisible()
        desk.close()


async def test_a_question_of_another_session_leads_there(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        wanted: list[str] = []
        desk.session_wanted.connect(wanted.append)
        stage.page.new_chat()
        with asking(stage, request(1, session_id="other")):
            await stage.until(lambda: desk.sheet.armed)
            assert "another session" in desk.sheet.title.text()
            desk.sheet.go.click()
            assert wanted == ["other"]
        await stage.until(lambda: desk.sheet.request is None)
        desk.close()


@pytest.mark.parametrize("factor", [1.0, 1.5])
async def test_nothing_is_cut_in_a_narrow_window_with_large_letters(
    stage: ChatStage, factor: float
) -> None:
    with letters(factor):
        async with stage:
            desk = desk_of(stage)
            stage.page.resize(672, 452)
            stage.page.new_chat()
            questions = [request(number, session_id="other") for number in (1, 2, 3, 4)]
            with asking(stage, *questions):
                await stage.until(lambda: desk.sheet.place.text() == "1 of 4")
                await stage.until(lambda: not cut_words(desk.sheet))
                assert desk.sheet.go.isVisible()
                await stage.until(lambda: not cut_words(stage.page.empty))
                stage.page.hide()
                await stage.until(desk.dialog.isVisible)
                await stage.until(lambda: not cut_words(desk.dialog))
                assert desk.dialog.height() < desk.dialog_sheet.sizeHint().height() + 60
                stage.page.show()
            await stage.until(lambda: desk.sheet.request is None)
            desk.close()


async def test_tab_goes_through_the_answers_as_they_stand(stage: ChatStage) -> None:
    async with stage:
        desk = desk_of(stage)
        stage.page.new_chat()
        with asking(stage, request(1, session_id="other"), request(2, session_id="other")):
            await stage.until(lambda: desk.sheet.place.text() == "1 of 2")
            await stage.until(lambda: desk.sheet.armed)
            walked = []
            desk.sheet.next.setFocus()
            for _ in range(6):
                QTest.keyClick(stage.page.focusWidget(), Qt.Key.Key_Tab)
                walked.append(stage.page.focusWidget())
            shown = desk.sheet.approval
            answers = [shown.buttons[name] for name in ("deny", "once", "session", "always")]
            assert walked == [shown.what, *answers, desk.sheet.go]
        await stage.until(lambda: desk.sheet.request is None)
        desk.close()


async def test_the_time_goes_on_in_the_dialog_and_the_session_is_named(
    stage: ChatStage, tmp_path: Path
) -> None:
    async with stage:
        stage.make_session("s", "Tidy up.", "All right.")
        await stage.show("s")
        desk = desk_of(stage)
        stage.server.script(tool_call("terminal", "I clean up.", command="rm -rf build"))
        stage.server.script(text("All clean."))
        stage.say("Remove build")
        await stage.until(lambda: desk.sheet.armed)
        desk.name_session("s", "Tidy\x1b up")
        assert desk.sheet.approval.session.text() == "Session: Tidy␛ up"
        ends = desk.sheet.request.expires_at
        desk._now = desk.sheet.bar._now = desk.dialog_sheet.bar._now = lambda: ends - 15.0
        stage.page.hide()
        await stage.until(desk.dialog.isVisible)
        assert desk.dialog_sheet.bar.share == pytest.approx(desk.sheet.bar.share)
        assert desk.dialog_sheet.bar.share < 0.5
        assert desk.dialog_sheet.approval.session.text() == "Session: Tidy␛ up"
        stage.page.show()
        await stage.until(lambda: not desk.dialog.isVisible())
        desk.sheet.approval.buttons["deny"].click()
        await done(stage)
