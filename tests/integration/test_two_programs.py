"""The window's services and the command line as two real processes on one history.

The model is a server on loopback that records what it is asked; what it was told is the proof.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hermes_desktop.core.events import SessionsChanged, TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from tests.fakes import model_server
from tests.fakes.model_server import ModelServer
from tests.support.waiting import until

pytestmark = [pytest.mark.two_processes, pytest.mark.slow]
CHECKOUT = Path(__file__).parents[2]


@dataclass
class Window:
    """The services of a window with what they told."""

    services: DesktopServices
    server: ModelServer
    finished: list[TurnFinished] = field(default_factory=list)
    changed: list[SessionsChanged] = field(default_factory=list)

    async def say(self, text: str, session_id: str | None = None) -> TurnFinished:
        sent = await self.services.chat.send(text, session_id=session_id)
        await until(lambda: any(turn.turn_id == sent.turn_id for turn in self.finished))
        return next(turn for turn in self.finished if turn.turn_id == sent.turn_id)

    def told(self) -> list[str]:
        """What the model was told last, without the system prompt."""
        messages = self.server.requests[-1].messages
        return [
            f"{each['role']}: {each['content']}" for each in messages if each["role"] != "system"
        ]


@contextlib.asynccontextmanager
async def window_on(home: Path) -> AsyncIterator[Window]:
    with ModelServer() as server:
        home.mkdir()
        (home / "config.yaml").write_text(
            f"model:\n  default: fake-model\n  base_url: {server.base_url}\n", encoding="utf-8"
        )
        paths = HermesPaths(home, home)
        services = build_services(paths, redactor=SecretRedactor(), environ={}, hosts=False)
        window = Window(services, server)
        services.bus.subscribe(TurnFinished, window.finished.append)
        services.bus.subscribe(SessionsChanged, window.changed.append)
        await services.start()
        services.watch.set_visible(True)
        try:
            yield window
        finally:
            await services.close()


async def command_line(home: Path, *arguments: str) -> str:
    """Run ``hermes-desktop`` as a process of its own and return what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hermes_desktop", *arguments,
        env={"PATH": os.environ["PATH"], "HERMES_HOME": str(home), "HOME": str(home.parent),
             "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


@pytest.mark.asyncio
async def test_a_turn_of_the_command_line_reaches_the_next_turn_of_the_window(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with window_on(home) as window:
        window.server.script(model_server.text("Noted."), model_server.text("From outside."))
        first = await window.say("Remember seven.")
        window.changed.clear()

        printed = await command_line(home, "chat", "-q", "And eight.", "--resume", first.session_id)
        assert "From outside." in printed
        await until(lambda: any(first.session_id in each.session_ids for each in window.changed))

        await window.say("Which numbers?", first.session_id)
        assert window.told() == [
            "user: Remember seven.",
            "assistant: Noted.",
            "user: And eight.",
            "assistant: From outside.",
            "user: Which numbers?",
        ]
        await window.say("Once more.", first.session_id)
        before, after = window.server.requests[-2].body, window.server.requests[-1].body
        shared = before[: before.rindex(b"]")]
        assert after.startswith(shared[: shared.rindex(b'"Which numbers?"')])
        messages = window.server.requests[-2].messages
        assert window.server.requests[-1].messages[: len(messages)] == messages


@pytest.mark.asyncio
async def test_both_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with window_on(home) as window:
        first = await window.say("Begin.")
        window.server.responder = lambda request: model_server.text("slow words here", delay=0.05)
        ours = asyncio.create_task(window.say("ours", first.session_id))
        await command_line(home, "chat", "-q", "theirs", "--resume", first.session_id)
        await ours
        row = await window.services.catalog.summary(first.session_id)
        page = await window.services.transcript.open(first.session_id)
        said = [message.content for message in page.messages if message.role == "user"]
        assert sorted(said) == ["Begin.", "ours", "theirs"]
        assert row.message_count == 6

        await window.say("last", first.session_id)
        # Two prompts in a row reach the model as one message of the user, in the stored order.
        told = "\n".join(window.told())
        assert "ours" in told
        assert "theirs" in told


@pytest.mark.asyncio
async def test_the_command_line_lists_what_the_window_wrote(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with window_on(home) as window:
        turn = await window.say("Hello there.")
        listed = await command_line(home, "sessions", "list", "--json")
        assert turn.session_id in listed
        assert '"source": "desktop"' in listed


@pytest.mark.asyncio
async def test_another_model_in_the_settings_answers_the_next_turn(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with window_on(home) as window:
        first = await window.say("Hello.")
        settings = home / "config.yaml"
        settings.write_text(
            settings.read_text(encoding="utf-8").replace("fake-model", "other-model"),
            encoding="utf-8",
        )
        await window.say("And now?", first.session_id)
        asked = [request.json["model"] for request in window.server.requests]
        assert asked == ["fake-model", "other-model"]
        assert window.told()[:2] == ["user: Hello.", "assistant: You said: Hello."]


@pytest.mark.asyncio
async def test_settings_that_break_leave_the_model_they_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with window_on(home) as window:
        first = await window.say("Hello.")
        (home / "config.yaml").write_text("model: [unclosed\n", encoding="utf-8")
        turn = await window.say("And now?", first.session_id)
        assert turn.outcome == "done"
        asked = [request.json["model"] for request in window.server.requests]
        assert asked == ["fake-model", "fake-model"]
