"""Whatever was sent before is sent again byte for byte, so that endpoints need not read it anew.

Looked at where it counts: at the bytes that arrive. Another process, another day, a tool, a note
before a message, a refusal in between change nothing of them.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.services.agents.agent_tools import AgentTools
from hermes_desktop.state import SessionDB
from tests.fakes import model_server as fake
from tests.fakes.clock import MovableClock
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.program import Program, rows

SID = "20260304_120000_abcdef"
END = b"]}"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> Path:
    folder = tmp_path / "person" / "home"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        f"model: {{default: m, base_url: '{server.base_url}'}}\n", encoding="utf-8"
    )
    (folder / "SOUL.md").write_text("You are „Größe“ 📖 itself.\n", encoding="utf-8")
    return folder


def each_begins_with_the_one_before(requests: list[Recorded]) -> None:
    for earlier, later in itertools.pairwise(requests):
        assert earlier.body.endswith(END)
        assert later.body.startswith(earlier.body.removesuffix(END))


def test_another_process_sends_the_same_bytes(
    home: Path, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text("eggs\n", encoding="utf-8")
    program = Program(home)
    path = str(tmp_path / "list.txt")
    server.script(fake.tool_call("read_file", "Let me look at „it“. ", path=path))
    assert program.run("chat", "-q", "What is on the list? 🥚").code == 0
    (row,) = rows(home)
    for question in ("And now?", "  Spaces,\n\n\nlines\tand <b>signs</b> \\ \" '  ", "Then?"):
        assert program.run("chat", "--resume", row["id"], "-q", question).code == 0
    assert len(server.requests) == 5
    each_begins_with_the_one_before(server.requests)


class Days:
    """Agents of one conversation, each on a store of its own, on the days that pass."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = MovableClock()

    def turn(self, text: str, note: str = "") -> str:
        paths, redactor = HermesPaths(self.home, self.home), SecretRedactor()
        db = SessionDB(self.home / "state.db")
        tools = AgentTools(
            paths,
            db,
            RequestQueue(self.clock),
            environ={"HOME": str(self.home.parent)},
            redactor=redactor,
            clock=self.clock,
        )
        builder = AgentBuilder(
            paths, db, redactor, {}, offline=False, clock=self.clock, tools=tools
        )
        agent = builder.build(AgentRequest(SID, "telegram", "key"))
        agent.bind(SID, None)
        try:
            result = agent.run_conversation(text, turn_note=note)
            return str(result["final_response"])
        finally:
            agent.close()
            db.close()


def test_another_day_notes_and_refusals_change_nothing(home: Path, server: ModelServer) -> None:
    days = Days(home)
    assert days.turn("Good morning")
    days.clock.advance(86_400 * 40)
    assert days.turn("Hello again", note="[The person was away for 40 days.]")
    (home / "SOUL.md").write_text("You are somebody else.\n", encoding="utf-8")
    assert days.turn("Who are you?")
    server.script(fake.error(503, "Busy"), fake.text("", finish="stop"), fake.text("Here."))
    assert days.turn("Are you there?") == "Here."
    server.script(fake.error(400, "Unrecognized request argument: stream_options"))
    days.turn("One more")
    first, *rest = server.requests
    assert "[The person was away" in rest[0].messages[-1]["content"]
    each_begins_with_the_one_before([first, *rest[:4]])
    # Tried again, it is the same request, not one that begins like it.
    assert rest[2].body == rest[3].body == rest[4].body
    # What the endpoint does not take is left out; the messages are the same bytes all the same.
    messages = [each.body.partition(b'"messages":')[2] for each in rest[4:]]
    assert messages[-1] == messages[-2]
    assert messages[-1].startswith(messages[0].removesuffix(END))
