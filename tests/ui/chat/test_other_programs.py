"""The page while other programs answer in the shown session."""

import asyncio
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from tests.fakes.foreign_program import foreign_program
from tests.fakes.model_server import Recorded, Reply, echo
from tests.fakes.program import Program, said

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.asyncio, pytest.mark.two_processes, pytest.mark.slow]


class HeldModel:
    """Answers ``One?`` when it may, and all others at once."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may = threading.Event()

    def __call__(self, request: Recorded) -> Reply:
        if request.messages[-1]["content"].endswith("One?") and not self.asked.is_set():
            self.asked.set()
            self.may.wait(60)
        return echo(request)


def chat(stage, text: str) -> "subprocess.Popen[bytes]":
    return Program(stage.paths.home).start("chat", "-q", text, "--resume", "s")


async def code_of(command: "subprocess.Popen[bytes]") -> int:
    await asyncio.to_thread(command.communicate, timeout=60)
    return command.returncode


async def test_a_message_waits_for_chat_says_so_and_the_order_holds(stage) -> None:
    async with stage:
        stage.server.responder = model = HeldModel()
        folder = stage.paths.home.parent / "work"  # else the model is told of two folders
        folder.mkdir()
        stage.make_session("s", "Hello?", "Yes.", cwd=str(folder))
        await stage.show("s")
        command = chat(stage, "One?")
        await stage.until(model.asked.is_set)
        stage.say("Two?")
        words = f"Waiting for hermes-desktop chat (process {command.pid}), which is answering"
        await stage.until(lambda: stage.page.composer.note.text().startswith(words))
        assert stage.page.composer.note.isVisible()
        assert stage.page.header.shown_state == "queued"
        assert stage.page.composer.text == ""
        model.may.set()
        await stage.until(lambda: stage.finished)
        assert await code_of(command) == 0
        await stage.until(lambda: not stage.page.composer.note.text())
        assert [text for _, text in said(stage.paths.home, "s")[2:]] == [
            "One?", "You said: One?", "Two?", "You said: Two?",
        ]  # fmt: skip


async def test_stop_ends_the_wait_and_the_message_comes_back(stage) -> None:
    async with stage:
        stage.server.responder = model = HeldModel()
        stage.make_session("s", "Hello?", "Yes.")
        await stage.show("s")
        command = chat(stage, "One?")
        await stage.until(model.asked.is_set)
        stage.say("Two?")
        await stage.until(stage.page.composer.stop_button.isVisible)
        stage.page.composer.stop_button.click()
        await stage.until(lambda: stage.page.composer.text == "Two?")
        assert not stage.page.composer.note.text()
        assert "Two?" not in stage.texts()
        model.may.set()
        assert await code_of(command) == 0
        assert ("user", "Two?") not in said(stage.paths.home, "s")


async def test_chat_waits_for_the_window_until_it_is_killed(stage) -> None:
    async with stage:
        stage.server.responder = model = HeldModel()
        stage.make_session("s", "Hello?", "Yes.")
        await stage.show("s")
        stage.say("One?")
        await stage.until(model.asked.is_set)
        command = chat(stage, "Two?")
        assert command.stderr is not None
        line = await asyncio.to_thread(command.stderr.readline)
        assert line.decode().startswith("Waiting for Hermes Desktop (process ")
        command.send_signal(signal.SIGKILL)
        await asyncio.to_thread(command.communicate)
        model.may.set()
        await stage.until(lambda: stage.finished)
        assert (await stage.say_and_wait("Three?")).outcome == "done"


async def test_a_session_that_an_ended_program_used_a_moment_ago_is_simply_open(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.", "And back?", age_s=20)
        await stage.show("s")
        await stage.say_and_wait("Well?")
        assert stage.dialogs() == []
        assert stage.page.composer.note.text() == ""


async def test_an_open_foreign_program_is_a_line_and_no_dialog(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", age_s=20)
        with foreign_program(stage.paths.state_db) as other:
            await stage.show("s")
            note = stage.page.composer.note
            await stage.until(note.isVisible)
            assert f"(process {other.process.pid}) may be answering here." in note.text()
            assert stage.dialogs() == []
            finished = await stage.say_and_wait("And back?")
            assert finished.outcome == "done"
            assert stage.dialogs() == []
            await stage.until(lambda: not note.text())


async def test_the_line_goes_when_the_program_has_ended(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", age_s=20)
        with foreign_program(stage.paths.state_db):
            await stage.show("s")
            await stage.until(stage.page.composer.note.isVisible)
        await stage.until(lambda: not stage.page.composer.note.text())


async def test_an_old_session_asks_nobody_about_open_files(stage) -> None:
    async with stage:
        stage.make_session("s", "Which train?", "The 6:12.")
        with foreign_program(stage.paths.state_db):
            await stage.show("s")
            assert (
                await stage.services.chat.foreign_activity_warning(stage.page.shown_session) == ""
            )
