"""How live sessions are titled, followed, shared, let go and ended."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hermes_desktop import plugins
from hermes_desktop.commands.added_commands import AddedCommand
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.errors import StateError
from hermes_desktop.plugins.commands import PluginCommand
from hermes_desktop.tui_gateway import live_sessions, server
from hermes_desktop.tui_gateway.agents import drop_agent
from hermes_desktop.tui_gateway.session_record import new_session
from hermes_desktop.tui_gateway.turns import alone, apply_pending_title
from tests.fakes.rpc_server import PATIENCE_S, Peer, ServerStage


class Titles:
    """A store of which only titles are asked."""

    def __init__(self, answer: bool | Exception) -> None:
        self.answer = answer

    def set_session_title(self, _session_id: str, _title: str) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (True, None),
        (False, "Trip"),
        (ValueError("taken"), None),
        (StateError("busy"), "Trip"),
        (RuntimeError("odd"), "Trip"),
    ],
)
def test_a_title_that_waits(answer: bool | Exception, left: str | None) -> None:
    session = new_session("s1")
    session["pending_title"] = "Trip"

    apply_pending_title(Titles(answer), session)  # type: ignore[arg-type]

    assert session["pending_title"] == left


def test_a_title_that_was_taken_meanwhile_is_dropped(stage: ServerStage) -> None:
    sid, session = stage.begin(title="Trip")
    stage.db.create_session("other", "cli")
    stage.db.set_session_title("other", "Trip")

    stage.say(sid, "Hi")

    assert session["pending_title"] is None
    assert stage.db.get_session_title(session["session_key"]) is None


def test_no_title_is_given_after_an_interruption(stage: ServerStage) -> None:
    sid, session = stage.begin(title="Trip")
    stage.model.hold.clear()
    stage.call("prompt.submit", session_id=sid, text="Hi")
    assert stage.model.asked.wait(PATIENCE_S)
    stage.call("session.interrupt", session_id=sid)
    assert session["_turn_over"].wait(PATIENCE_S)

    assert session["pending_title"] == "Trip"
    stage.model.hold.set()
    stage.say(sid, "Again")
    assert stage.db.get_session_title(session["session_key"]) == "Trip"


def rotating(stage: ServerStage) -> None:
    """Agents that move to a continuation in the middle of their turn, once."""

    def make(wish: Any) -> Any:
        agent: Any = stage.plain_agent(wish)
        plain = agent.run_conversation
        moved: list[str] = []

        def run(*args: Any, **kwargs: Any) -> Any:
            result = plain(*args, **kwargs)
            if not moved:
                moved.append("moved")
                stage.db.end_session(agent.session_id, "compression")
                stage.db.create_session(
                    "child", "tui", parent_session_id=agent.session_id, model="scripted"
                )
                stage.db.append_message("child", "user", "In short: hello")
                agent.session_id = "child"
                result["session_id"] = "child"
            return result

        agent.run_conversation = run
        return agent

    stage.make_agent = make


def test_a_session_follows_its_agent(stage: ServerStage) -> None:
    rotating(stage)
    stage.settings.limit = 5
    sid, session = stage.begin(title="Trip")
    parent = session["session_key"]

    stage.say(sid, "One")

    assert session["session_key"] == "child"
    assert list(stage.places.taken.values()) == ["child"]
    assert stage.db.get_session_title("child") == "Trip"
    stage.say(sid, "Two")
    told = [each["content"] for each in stage.model.requests[-1].messages if each["role"] == "user"]
    assert "".join(told).startswith("In short: hello")
    assert len(stage.db.get_messages(parent)) == 2
    stage.call("session.close", session_id=sid)
    child, first = stage.db.get_session("child"), stage.db.get_session(parent)
    assert child is not None
    assert first is not None
    assert (first["end_reason"], child["end_reason"]) == ("compression", "tui_close")


def test_following_forgets_what_is_asked_for(stage: ServerStage) -> None:
    sid, session = stage.begin(title="Trip")
    session["slash_worker"] = object()
    session["agent"] = type("Moved", (), {"session_id": "elsewhere"})()

    server._sync_session_key_after_compress(sid, session)

    assert session["session_key"] == "elsewhere"
    assert session["pending_title"] is None
    assert session["slash_worker"] is None
    server._sync_session_key_after_compress(sid, session, clear_pending_title=False)
    session["agent"] = None


def test_a_session_ends_once(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.say(sid, "Hi")
    server._finalize_session(session)
    stage.db.reopen_session(session["session_key"])

    server._finalize_session(session)

    row = stage.db.get_session(session["session_key"])
    assert row is not None
    assert row["ended_at"] is None


def test_a_chat_of_a_messaging_platform_is_not_ended(stage: ServerStage) -> None:
    stage.db.create_session("t1", "telegram")
    stage.db.append_message("t1", "user", "From afar")
    sid = stage.call("session.resume", session_id="t1")["session_id"]
    stage.say(sid, "From here")

    stage.call("session.close", session_id=sid)

    row = stage.db.get_session("t1")
    assert row is not None
    assert row["ended_at"] is None
    assert stage.code("session.create", source="telegram") == 4004


def test_two_peers_hear_one_session(stage: ServerStage) -> None:
    second = Peer()
    sid, session = stage.begin()
    stage.call("session.resume", second, session_id=sid)

    stage.say(sid, "Hi")

    assert second.wait_for("message.complete")["text"] == "reply 1"
    assert stage.call("session.active_list", Peer())["sessions"][0]["current"] is False
    live_sessions.left_by(server.SERVER, second, 1.0)
    assert session.get("orphaned_at") is None
    live_sessions.left_by(server.SERVER, stage.peer, 1.0)
    assert session["orphaned_at"] == 1.0


def test_sessions_whose_peers_left_wait_a_while(stage: ServerStage) -> None:
    sid, _ = stage.begin()
    now = stage.clock.monotonic()
    live_sessions.left_by(server.SERVER, stage.peer, now)

    live_sessions.tidy(server.SERVER, now + live_sessions.ORPHAN_S - 1)
    assert sid in server._sessions
    stage.call("session.activate", session_id=sid)
    live_sessions.tidy(server.SERVER, now + live_sessions.ORPHAN_S + 1)
    assert sid in server._sessions

    live_sessions.left_by(server.SERVER, stage.peer, now)
    live_sessions.tidy(server.SERVER, now + live_sessions.ORPHAN_S + 1)
    assert sid not in server._sessions


def test_a_session_that_nobody_uses_is_closed_though_somebody_hears(stage: ServerStage) -> None:
    sid, _ = stage.begin()
    busy, session = stage.begin()
    stage.model.hold.clear()
    stage.call("prompt.submit", session_id=busy, text="Hi")
    assert stage.model.asked.wait(PATIENCE_S)

    live_sessions.tidy(server.SERVER, stage.clock.monotonic() + live_sessions.IDLE_S + 1)

    assert sid not in server._sessions
    closed = [each["closed"] for each in stage.peer.payloads("session.info") if "closed" in each]
    assert closed == [True]
    assert busy in server._sessions
    stage.model.hold.set()
    assert session["_turn_over"].wait(PATIENCE_S)


def test_with_too_many_the_longest_unused_is_closed(stage: ServerStage) -> None:
    first, _ = stage.begin()
    for _ in range(live_sessions.MOST_LIVE - 1):
        stage.clock.advance(1)
        stage.begin()
    second = next(each for each in server._sessions if each != first)
    stage.call("session.activate", session_id=first)

    last, _ = stage.begin()

    assert second not in server._sessions
    assert {first, last} <= set(server._sessions)
    assert len(server._sessions) == live_sessions.MOST_LIVE


def test_deleting_what_is_open_is_refused(stage: ServerStage) -> None:
    sid, session = stage.begin()
    assert stage.code("session.delete", session_id=session["session_key"]) == 4023
    stage.say(sid, "Hi")
    assert stage.code("session.delete", session_id=session["session_key"]) == 4023
    stage.call("session.close", session_id=sid)
    assert stage.call("session.delete", session_id=session["session_key"])


def test_without_a_program_requests_are_refused() -> None:
    answer = server.handle_request({"id": 1, "method": "session.create"})

    assert answer["error"]["code"] == 5000
    assert server._get_db() is None


def test_a_session_goes_on_in_another_one(stage: ServerStage) -> None:
    stage.db.create_session("s1", "cli")
    stage.db.append_message("s1", "user", "Earlier")
    stage.db.append_message("s1", "assistant", "Yes")
    stage.db.set_session_title("s1", "Before")
    sid, session = stage.begin()
    stage.say(sid, "Now")
    old = session["session_key"]

    listed = stage.call("slash.exec", session_id=sid, command="/sessions")["output"]
    said = stage.call("slash.exec", session_id=sid, command="/resume Before")["output"]

    assert "Before" in listed
    assert "Before" in said
    assert session["session_key"] == "s1"
    row = stage.db.get_session(old)
    assert row is not None
    assert row["end_reason"] == "tui_close"
    stage.say(sid, "Again")
    told = [each["content"] for each in stage.model.requests[-1].messages if each["role"] == "user"]
    assert told == ["Earlier", "Again"]
    other, _ = stage.begin()
    refused = stage.call("slash.exec", session_id=other, command="/resume Before")["output"]
    assert "open already" in refused


def test_commands_of_a_gateway_are_not_there(stage: ServerStage) -> None:
    sid, _ = stage.begin()

    assert "not there" in stage.call("slash.exec", session_id=sid, command="/restart")["output"]
    listed = stage.call("slash.exec", session_id=sid, command="/help")["output"]
    assert "/undo" in listed
    assert "/sethome" not in listed


def test_a_folder_is_stored_when_it_was_chosen(stage: ServerStage) -> None:
    chosen, session = stage.begin(cwd=str(stage.home))
    plain, other = stage.begin()
    stage.say(chosen, "Hi")
    stage.say(plain, "Hi")

    rows = [stage.db.get_session(each["session_key"]) for each in (session, other)]

    assert [row and row["cwd"] for row in rows] == [str(stage.home), None]


def test_a_session_is_made_live_once_however_many_ask(stage: ServerStage) -> None:
    stage.db.create_session("s1", "cli")
    stage.db.append_message("s1", "user", "Hello")
    found: list[str] = []

    def resume() -> None:
        found.append(stage.call("session.resume", session_id="s1")["session_id"])

    threads = [threading.Thread(target=resume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_queued_prompt_is_answered_by_the_model_chosen_meanwhile(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.say(sid, "One")
    made = session["agent"]
    with alone(server.SERVER, sid, session, "the test"):
        stage.call("prompt.submit", session_id=sid, text="Two")
        drop_agent(session)

    assert stage.peer.wait_for("message.complete", 2)["status"] == "complete"
    assert session["agent"] is not made


def test_commands_of_plugins_are_done(stage: ServerStage) -> None:
    def broken(_: str) -> str:
        raise RuntimeError("on purpose")

    commands = [
        PluginCommand("weather", lambda args: f"Rain in {args}", "Tells it", "<place>", "sky"),
        PluginCommand("broken", broken, plugin="sky"),
        PluginCommand("undo", lambda _: "mine", plugin="sky"),
    ]
    with contextlib.ExitStack() as stack:
        for each in commands:
            stack.callback(plugins.COMMANDS.add(each))
        sid, _ = stage.begin()

        said = stage.call("slash.exec", session_id=sid, command="/weather Lisbon")
        done = stage.call("command.dispatch", session_id=sid, name="weather", arg="Porto")

        assert said == {"output": "Rain in Lisbon"}
        assert done == {"type": "exec", "output": "Rain in Porto"}
        assert stage.code("slash.exec", session_id=sid, command="/broken") == 5019
        assert stage.code("command.dispatch", session_id=sid, name="undo") == 4018
        pairs = stage.call("commands.catalog")["pairs"]
        assert ["/weather", "Tells it (usage: /weather <place>)"] in pairs
        assert [each for each, _ in pairs].count("/undo") == 1
        assert stage.call("command.resolve", name="weather")["category"] == "Plugins"
        found = stage.call("complete.slash", text="/wea")["items"]
        assert [each["text"] for each in found] == ["weather"]
        assert "`/weather <place>` — Tells it" in help_of(stage, sid)


def help_of(stage: ServerStage, sid: str) -> str:
    return str(stage.call("slash.exec", session_id=sid, command="/help")["output"])


def test_the_persons_own_commands_are_done(stage: ServerStage) -> None:
    def own(name: str, answer: str = "", stands_for: str = "") -> AddedCommand:
        words = CommandDef(name, "does it", "Added")
        return AddedCommand(words, stands_for, lambda args, _: f"{answer} [{args}]")

    stage.own_commands = [
        own("weather", "mine"),
        own("undo", "mine"),
        own("sky", stands_for="/weather in Lisbon"),
        own("back", stands_for="undo"),
        own("round", stands_for="round"),
        own("nowhere", stands_for="nothing"),
    ]
    theirs = PluginCommand("weather", lambda _: "theirs", plugin="sky")
    with contextlib.ExitStack() as stack:
        stack.callback(plugins.COMMANDS.add(theirs))
        sid, _ = stage.begin()

        def done(line: str) -> Any:
            return stage.call("slash.exec", session_id=sid, command=line)["output"]

        assert done("/Weather now") == "mine [now]"
        assert done("/sky today") == "mine [in Lisbon today]"
        assert "There is no command /nothing." in done("/nowhere")
        assert "There is no command /round." in done("/round")
        dispatched = stage.call("command.dispatch", session_id=sid, name="/sky", arg="x")
        assert dispatched == {"type": "exec", "output": "mine [in Lisbon x]"}
        assert stage.code("command.dispatch", session_id=sid, name="back") == 4018
        listed = stage.call("commands.catalog")["categories"]
        added = next(each["pairs"] for each in listed if each["name"] == "Added")
        assert [name for name, _ in added] == ["/weather", "/sky", "/back", "/round", "/nowhere"]
        assert stage.call("command.resolve", name="sky")["category"] == "Added"
        assert "`/sky` — does it" in help_of(stage, sid)


def test_interrupting_ends_a_command(stage: ServerStage) -> None:
    begun = threading.Event()

    def wait(_args: str, given_up: Callable[[], bool]) -> str:
        begun.set()
        over = threading.Event()
        while not given_up():
            over.wait(0.01)
        return "ended"

    stage.own_commands = [AddedCommand(CommandDef("wait", "waits", "Added"), run=wait)]
    sid, _ = stage.begin()
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(stage.call("slash.exec", session_id=sid, command="/wait"))
    )
    thread.start()
    assert begun.wait(PATIENCE_S)
    stage.call("session.interrupt", session_id=sid)
    thread.join(PATIENCE_S)

    assert answers == [{"output": "ended"}]


@pytest.mark.parametrize("wanted", ["/x" * 50_000, "/\0", "~nobody-of-this-name/x"])
def test_what_can_be_no_folder_is_none(stage: ServerStage, wanted: str) -> None:
    assert stage.code("session.create", cwd=wanted) == 4017
