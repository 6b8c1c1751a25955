"""What is seen while tools run: each call once, from its beginning to its stored result."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.events import ToolFinished, ToolStarted, TurnFinished, TurnStarted
from hermes_desktop.core.user_requests import RequestPending, RequestResolved, UserAnswer
from hermes_desktop.ui.transcript.live.live_turn import LiveReply
from hermes_desktop.ui.transcript.tool_fold import ToolLine
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.chat_stage import ChatStage
from tests.fakes.model_server import Reply, chunk, event, hang, text, tool_call
from tests.fakes.user_requests import approval_request

pytestmark = pytest.mark.asyncio


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> ChatStage:
    home = tmp_path / "home"
    home.mkdir()
    made = ChatStage(home, theme)
    work = tmp_path / "work"
    work.mkdir()

    def configure() -> None:
        model = {"default": "fake-model", "base_url": made.server.base_url, "provider": "custom"}
        config = {
            "model": model,
            "terminal": {"cwd": str(work)},
            "approvals": {"mode": "off", "sandboxed_commands": "off"},
        }
        made.paths.config_yaml.write_text(json.dumps(config), encoding="utf-8")

    made.configure = configure  # type: ignore[method-assign]
    return made


def lines(stage: ChatStage) -> list[ToolLine]:
    """Every line of a call that can be seen, from top to bottom."""
    return [
        line
        for item in stage.page.view.area.column.items
        for line in getattr(item.widget, "folds", ())
        if line.isVisible() and item.widget.isVisible()
    ]


def heads(stage: ChatStage) -> int:
    """How often "Hermes" stands above something."""
    shown = [w for w in stage.page.view.messages if w.isVisible() and w.speaker == "assistant"]
    return sum(widget.has_header for widget in shown)


def carets(stage: ChatStage) -> int:
    """How many places say that a reply is being written."""
    live = [w for w in stage.page.view.messages if isinstance(w, LiveReply) and w.isVisible()]
    return sum(reply._stream is not None for reply in live)


class Watch:
    """Looks at the widgets a hundred times a second while something goes on."""

    def __init__(self, stage: ChatStage, *looks: Callable[[ChatStage], object]) -> None:
        self._stage = stage
        self._looks = looks
        self.seen: list[tuple[object, ...]] = []

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                self.look()
                await asyncio.sleep(0.01)
        self.look()

    def look(self) -> None:
        state = tuple(each(self._stage) for each in self._looks)
        if not self.seen or self.seen[-1] != state:
            self.seen.append(state)


def marks(stage: ChatStage) -> tuple[str, ...]:
    return tuple(f"{line.call.name} {line.button.words.mark}" for line in lines(stage))


def script_path(tmp_path: Path, name: str, body: str) -> str:
    path = tmp_path / name
    path.write_text(f"#!{sys.executable}\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def waits_for(path: Path, *, code: int = 0) -> str:
    """A program that says something, and ends when a file is there."""
    return (
        f"import os, time\nprint('begun', flush=True)\n"
        f"while not os.path.exists({str(path)!r}):\n    time.sleep(0.01)\nraise SystemExit({code})"
    )


def calls(*wanted: tuple[str, str, dict[str, object]], said: str = "") -> Reply:
    """A streamed answer that wants several things at once."""
    begun = chunk(said or None)
    begun["choices"][0]["delta"]["tool_calls"] = [
        {
            "index": at, "id": call_id, "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for at, (call_id, name, arguments) in enumerate(wanted)
    ]  # fmt: skip
    return Reply([event(begun), event(chunk(finish="tool_calls")), event("[DONE]")])


async def done(stage: ChatStage) -> None:
    await stage.until(lambda: stage.finished)
    await stage.until(lambda: not stage.page.view.live.turns)
    await stage.until(stage.settled)


async def test_a_call_stands_once_from_its_beginning_to_its_result(
    stage: ChatStage, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    command = script_path(tmp_path, "slow", waits_for(over))
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", "I look.", command=command), text("Done."))
        stage.say("Go")
        watch = Watch(stage, marks, heads, carets)
        await watch.until(lambda: marks(stage) == ("terminal running",))
        line = lines(stage)[0]
        assert line.button.words.subject.endswith("slow")
        assert line.line.extra is not None  # Stop
        assert "is running" in line.button.accessibleName()
        await watch.until(lambda: line.button.words.end == "1 s")
        line.button.click()
        assert line.inside.isVisible()
        over.touch()
        await watch.until(lambda: stage.finished and not stage.page.view.live.turns)
        await done(stage)
        assert lines(stage) == [line]  # the same widget, still open
        assert line.button.isChecked()
        assert line.call.result is not None
        assert "begun" in line.call.result
        assert line.line.extra is None
        assert stage.texts() == ["Go", "I look.", "Done."]
        for seen_marks, seen_heads, _ in watch.seen:
            assert len(seen_marks) <= 1
            assert seen_heads <= 1
        # The row may be read a moment before the news; its line has no mark until then.
        order = [m[0] for m, _, _ in watch.seen if m and m != ("terminal ",)]
        assert [m for at, m in enumerate(order) if at == 0 or order[at - 1] != m] == [
            "terminal running", "terminal ok",
        ]  # fmt: skip
        # Nothing says that a reply is being written while a tool runs.
        assert all(shown == 0 for m, _, shown in watch.seen if m == ("terminal running",))


async def test_a_call_without_a_word_before_it_stands_below_one_head(
    stage: ChatStage, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    command = script_path(tmp_path, "slow", waits_for(over))
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", command=command), text("Done."))
        stage.say("Go")
        watch = Watch(stage, marks, heads, carets)
        await watch.until(lambda: marks(stage) == ("terminal running",))
        await watch.until(lambda: lines(stage)[0].call.arguments)  # the row shows it
        assert heads(stage) == 1
        over.touch()
        await watch.until(lambda: stage.finished and not stage.page.view.live.turns)
        await done(stage)
        assert heads(stage) == 1
        assert all(seen_heads <= 1 and len(m) <= 1 for m, seen_heads, _ in watch.seen)
        assert stage.texts() == ["Go", "", "Done."]


async def test_ids_that_begin_anew_give_no_early_tick(stage: ChatStage, tmp_path: Path) -> None:
    """The second call has the id of the first; its line waits for its own result."""
    over = tmp_path / "over"
    slow = script_path(tmp_path, "slow", waits_for(over, code=3))
    async with stage:
        stage.page.new_chat()
        stage.server.script(
            tool_call("terminal", "First.", command="true"),
            tool_call("terminal", "Second.", command=slow),
            text("Done."),
        )
        stage.say("Go")
        watch = Watch(stage, marks)
        await watch.until(lambda: marks(stage) == ("terminal ok", "terminal running"))
        await watch.until(lambda: lines(stage)[1].call.arguments)
        assert marks(stage) == ("terminal ok", "terminal running")
        over.touch()
        await watch.until(lambda: stage.finished)
        await done(stage)
        assert marks(stage) == ("terminal ok", "terminal failed")
        assert "exit code 3" in lines(stage)[1].button.words.note
        states = [m for (m,) in watch.seen]
        assert ("terminal ok", "terminal ok") not in states
        assert all(len(m) <= 2 for m in states)


async def test_several_at_once_each_have_a_line(stage: ChatStage, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "a.txt").write_text("alpha", encoding="utf-8")
    pipe = work / "slow.txt"
    over = tmp_path / "over"
    slow = script_path(tmp_path, "slow", waits_for(over))
    pipe.write_text("beta", encoding="utf-8")
    async with stage:
        stage.page.new_chat()
        stage.server.script(
            calls(
                ("c1", "read_file", {"path": str(work / "a.txt")}),
                ("c2", "terminal", {"command": slow}),
                ("c3", "read_file", {"path": str(work / "missing.txt")}),
                said="Three things.",
            ),
            text("Done."),
        )
        stage.say("Go")
        watch = Watch(stage, marks, heads)
        await watch.until(lambda: "terminal running" in marks(stage))
        await watch.until(lambda: len(lines(stage)) == 3)
        assert marks(stage)[:2] == ("read_file ok", "terminal running")
        over.touch()
        await watch.until(lambda: stage.finished)
        await done(stage)
        assert marks(stage) == ("read_file ok", "terminal ok", "read_file failed")
        assert all(len(m) <= 3 and count <= 1 for m, count in watch.seen)


async def test_stop_on_the_line_ends_the_turn(stage: ChatStage, tmp_path: Path) -> None:
    command = script_path(tmp_path, "slow", waits_for(tmp_path / "never"))
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", "I look.", command=command))
        stage.say("Go")
        await stage.until(lambda: marks(stage) == ("terminal running",))
        extra = lines(stage)[0].line.extra
        assert extra is not None
        extra.click()
        await stage.until(lambda: stage.finished)
        assert stage.finished[-1].outcome == "stopped"
        await stage.until(lambda: marks(stage) == ("terminal failed",))
        await stage.until(lambda: "stopped" in lines(stage)[0].button.words.note)
        assert lines(stage)[0].line.extra is None


async def test_coming_back_shows_what_runs(stage: ChatStage, tmp_path: Path) -> None:
    over = tmp_path / "over"
    command = script_path(tmp_path, "slow", waits_for(over))
    other = stage.make_session("other", "Hello", "Hi")
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("terminal", "I look.", command=command), text("Done."))
        stage.say("Go")
        await stage.until(lambda: marks(stage) == ("terminal running",))
        session_id = stage.page.current_session_id
        assert session_id is not None
        await stage.show(other)
        assert marks(stage) == ()
        await stage.show(session_id)
        await stage.until(lambda: marks(stage) == ("terminal running",))
        assert heads(stage) == 1
        over.touch()
        await done(stage)
        assert marks(stage) == ("terminal ok",)


async def test_what_is_said_while_waiting_for_the_model_after_a_tool(stage: ChatStage) -> None:
    async with stage:
        stage.page.new_chat()
        stage.server.script(tool_call("todo", "First I look."), hang())
        stage.say("Go")
        await stage.until(lambda: marks(stage) == ("todo ok",))
        await stage.until(lambda: carets(stage) == 1)  # it goes on, below, without another head
        assert heads(stage) == 1
        await stage.services.chat.stop(str(stage.page.current_session_id))
        await stage.until(lambda: stage.finished)


async def test_tools_of_turns_that_tell_no_steps(stage: ChatStage) -> None:
    """Events as other agents bring them: each call has its line, and no row comes for it."""
    stage.make_session("s", "Hello", "Hi")
    async with stage:
        await stage.show("s")
        publish = stage.bus.publish
        publish(TurnStarted("t", "k", "s", "Go"))
        publish(ToolStarted("t", "s", "a", "web_fetch", "example.org"))
        publish(ToolStarted("t", "s", "b", "web_fetch", "example.com"))
        assert marks(stage) == ("web_fetch running", "web_fetch running")
        assert [line.line.extra is not None for line in lines(stage)] == [True, False]
        publish(ToolFinished("t", "s", "a", "web_fetch", "example.org", ok=False, seconds=2.0))
        assert marks(stage) == ("web_fetch failed", "web_fetch running")
        assert [line.line.extra is not None for line in lines(stage)] == [False, True]
        publish(TurnFinished("t", "k", "s", None, "stopped"))
        await asyncio.sleep(0)
        assert not [mark for mark in marks(stage) if mark.endswith("running")]


async def test_a_call_that_waits_for_a_word_says_so(stage: ChatStage) -> None:
    stage.make_session("s", "Hello", "Hi")
    async with stage:
        await stage.show("s")
        publish = stage.bus.publish
        request = approval_request(
            "r", "k", "s", "", "desktop", "terminal", "rm x", "/", (), ("deny",), 0.0, 9e9
        )
        publish(TurnStarted("t", "k", "s", "Go"))
        # The question comes on its own way, and may be faster than the news of its tool.
        publish(RequestPending(request))
        publish(ToolStarted("t", "s", "a", "terminal", "rm x"))
        assert marks(stage) == ("terminal asked",)
        assert lines(stage)[0].button.words.end == "waiting for your answer"
        publish(RequestResolved(request, UserAnswer("once", "answered")))
        assert marks(stage) == ("terminal running",)


async def test_other_colours_while_a_tool_runs(stage: ChatStage) -> None:
    stage.make_session("s", "Hello", "Hi")
    async with stage:
        await stage.show("s")
        publish = stage.bus.publish
        publish(TurnStarted("t", "k", "s", "Go"))
        publish(ToolStarted("t", "s", "a", "web_fetch", "example.org"))
        before = lines(stage)[0]
        stage.theme.set_scheme("dark" if stage.theme.scheme == "light" else "light")
        await stage.until(lambda: lines(stage) and lines(stage)[0] is not before)
        await stage.until(lambda: lines(stage)[0].button.words.end == "1 s")  # it goes on counting
        assert lines(stage)[0].line.extra is not None
        publish(ToolFinished("t", "s", "a", "web_fetch", "example.org", ok=True, seconds=2.0))
        assert marks(stage) == ("web_fetch ok",)
        assert lines(stage)[0].line.extra is None


async def test_pictures_ten_times_a_second(stage: ChatStage, tmp_path: Path) -> None:
    """A real turn with two steps, for people to look at (HERMES_PICTURES names a folder)."""
    folder = os.environ.get("HERMES_PICTURES")
    over = tmp_path / "over"
    slow = script_path(tmp_path, "build", waits_for(over))
    async with stage:
        stage.page.new_chat()
        stage.server.script(
            tool_call("terminal", "First I build it.", command=slow),
            tool_call("read_file", path=str(tmp_path / "missing.txt")),
            text("The build is fine, the **report** is missing.", delay=0.05),
        )
        stage.say("Build it and read the report")
        for number in range(60):
            if folder:
                stage.page.grab().save(f"{folder}/series-{number:02d}.png")
            if number == 12:
                over.touch()
            if stage.finished and not stage.page.view.live.turns:
                break
            await asyncio.sleep(0.1)
        await done(stage)
        assert marks(stage) == ("terminal ok", "read_file failed")
