"""``hermes-desktop rpc`` as a front end sees it: one process, one peer on its standard streams."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, chunk, error, event, hang, raw, text
from tests.fakes.program import Converse, Program, rows, said
from tests.fakes.rpc_client import PATIENCE_S, RpcError, RpcProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


@pytest.fixture
def rpc(program: Program, configured: Path) -> Iterator[RpcProcess]:
    with RpcProcess(program) as running:
        yield running


def begun(rpc: RpcProcess, **params: object) -> tuple[str, str]:
    """A new live session, and its stored id."""
    created = rpc.call("session.create", cols=80, **params)
    return created["session_id"], created["stored_session_id"]


# ------------------------------------------------------------------------------- a conversation


def test_a_reply_is_streamed_and_stored(rpc: RpcProcess, server: ModelServer, home: Path) -> None:
    server.script(text("Hello there, friend"))
    sid, key = begun(rpc)
    assert not rows(home)  # looking and opening make no row

    complete = rpc.said(sid, "Hi")

    kinds = [each["params"]["type"] for each in rpc.frames if each.get("method") == "event"]
    assert kinds == [
        "gateway.ready",
        "message.start",
        *["message.delta"] * 3,
        "message.complete",
        "session.info",
    ]
    assert complete["text"] == "Hello there, friend"
    assert complete["status"] == "complete"
    assert complete["usage"]["input"] == 11
    assert said(home, key) == [("user", "Hi"), ("assistant", "Hello there, friend")]
    assert rows(home)[0]["source"] == "tui"


def test_thinking_in_the_text_is_told_as_thinking_and_characters_are_whole(
    rpc: RpcProcess, server: ModelServer, home: Path
) -> None:
    half = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n'
    ends = [event(chunk(finish="stop")), event("[DONE]")]
    server.script(
        raw([event(chunk("<th")), event(chunk("ink>hm</think>\n\nHi")), *ends]),
        raw([event(chunk("hm\n")), event(chunk("</think>\n\nHo")), *ends]),
        raw([half % b"Hey \\ud83d", half % b"\\ude00 there", *ends]),
    )
    sid, key = begun(rpc)

    assert [rpc.said(sid, word)["text"] for word in "abc"] == ["Hi", "Ho", "Hey 😀 there"]

    events = [each["params"] for each in rpc.frames if each.get("method") == "event"]
    told = [each["payload"]["text"] for each in events if each["type"] == "message.delta"]
    assert "".join(told) == "Hihm\nHoHey 😀 there"
    thought = [each["payload"]["text"] for each in events if each["type"] == "reasoning.delta"]
    assert thought == ["hm", "hm"]
    assert any(
        "thinking" in str(each["payload"]) for each in events if each["type"] == "status.update"
    )
    assert [content for _, content in said(home, key)][1::2] == ["Hi", "Ho", "Hey 😀 there"]


def test_the_first_frame_is_ready_and_nothing_else_is_printed(
    rpc: RpcProcess, server: ModelServer
) -> None:
    assert rpc.frames[0]["params"]["type"] == "gateway.ready"
    sid, _ = begun(rpc)
    rpc.said(sid, "Hi")

    assert rpc.end() == 0
    assert all(frame["jsonrpc"] == "2.0" for frame in rpc.frames)


def test_the_model_is_told_the_conversation_in_the_same_bytes(
    rpc: RpcProcess, server: ModelServer
) -> None:
    sid, _ = begun(rpc)
    rpc.said(sid, "One")
    rpc.said(sid, "Two")

    first, second = (each.messages for each in server.requests)
    assert second[: len(first)] == first


def test_an_interrupted_reply_is_kept(rpc: RpcProcess, server: ModelServer, home: Path) -> None:
    server.script(hang("Once upon"))
    sid, key = begun(rpc)
    rpc.call("prompt.submit", session_id=sid, text="Tell")
    rpc.event("message.delta")

    assert rpc.call("session.interrupt", session_id=sid)["status"] == "interrupted"

    assert rpc.event("message.complete")["status"] == "interrupted"
    assert said(home, key) == [("user", "Tell"), ("assistant", "Once upon")]
    assert rpc.said(sid, "Go on")["status"] == "complete"


def test_a_message_meanwhile_interrupts_and_is_answered_next(
    rpc: RpcProcess, server: ModelServer, home: Path
) -> None:
    server.script(hang("Once upon"), text("Of course"))
    sid, key = begun(rpc)
    rpc.call("prompt.submit", session_id=sid, text="Tell")
    rpc.event("message.delta")

    assert rpc.call("prompt.submit", session_id=sid, text="Or")["status"] == "queued"

    assert rpc.event("message.complete")["status"] == "interrupted"
    assert rpc.event("message.complete")["text"] == "Of course"
    assert [content for _, content in said(home, key)] == ["Tell", "Once upon", "Or", "Of course"]


def test_a_message_meanwhile_waits_where_that_is_set(
    rpc: RpcProcess, server: ModelServer, home: Path
) -> None:
    server.script(text("One two three", delay=0.1), text("Four"), text("Five"))
    sid, key = begun(rpc)
    rpc.call("config.set", session_id=sid, key="busy", value="queue")
    rpc.call("prompt.submit", session_id=sid, text="First")
    rpc.event("message.delta")
    for words in ("Second", "Third"):
        assert rpc.call("prompt.submit", session_id=sid, text=words)["status"] == "queued"

    replies = [rpc.event("message.complete")["text"] for _ in range(3)]

    assert replies == ["One two three", "Four", "Five"]
    assert [content for role, content in said(home, key) if role == "user"] == [
        "First",
        "Second",
        "Third",
    ]


def test_a_message_can_be_written_anew(rpc: RpcProcess, server: ModelServer, home: Path) -> None:
    sid, key = begun(rpc)
    for words in ("One", "Two", "Three"):
        rpc.said(sid, words)

    rpc.said(sid, "Zwei", truncate_before_user_ordinal=1)

    assert [content for role, content in said(home, key) if role == "user"] == ["One", "Zwei"]
    told = [each["content"] for each in server.requests[-1].messages if each["role"] == "user"]
    assert told == ["One", "Zwei"]


def test_undo_takes_the_last_message_back(rpc: RpcProcess, home: Path) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "One")
    rpc.said(sid, "Two")

    assert rpc.call("session.undo", session_id=sid)["removed"] == 2

    assert rpc.call("session.history", session_id=sid)["count"] == 2
    assert [content for role, content in said(home, key) if role == "user"] == ["One"]
    rpc.call("session.undo", session_id=sid)
    assert rpc.call("session.undo", session_id=sid)["removed"] == 0


def test_a_session_is_resumed_by_its_title(
    rpc: RpcProcess, converse: Converse, server: ModelServer
) -> None:
    converse("s1", "What is it?", "A train.", title="Trip plan")

    found = rpc.call("session.resume", title="Trip plan")

    assert found["resumed"] == "s1"
    assert found["messages"] == [
        {"role": "user", "text": "What is it?"},
        {"role": "assistant", "text": "A train."},
    ]
    assert rpc.call("session.resume", session_id="s1")["session_id"] == found["session_id"]
    rpc.said(found["session_id"], "Which?")
    assert [each["content"] for each in server.requests[-1].messages][1:] == [
        "What is it?",
        "A train.",
        "Which?",
    ]


def test_looking_at_a_session_leaves_it_as_it_was(
    rpc: RpcProcess, converse: Converse, home: Path
) -> None:
    converse("s1", "Hello", "Yes?")
    before = rows(home)

    sid = rpc.call("session.resume", session_id="s1")["session_id"]
    rpc.call("session.close", session_id=sid)

    assert rows(home) == before


def test_a_branch_goes_its_own_way(rpc: RpcProcess, home: Path) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "One")

    branch = rpc.call("session.branch", session_id=sid, name="Aside")
    rpc.said(branch["session_id"], "Two")

    assert branch["title"] == "Aside"
    assert branch["parent"] == key
    assert len(said(home, key)) == 2
    assert len(said(home, branch["stored_session_id"])) == 4


def test_a_title_waits_for_the_first_reply(rpc: RpcProcess, db: SessionDB) -> None:
    sid, key = begun(rpc)
    assert rpc.call("session.title", session_id=sid, title="Trip plan")["pending"] is True
    assert rpc.call("session.title", session_id=sid)["title"] == "Trip plan"
    assert db.get_session(key) is None

    rpc.said(sid, "Hi")

    # Given right after the reply, on the turn's own thread; the info that follows has it.
    assert db.get_session_title(key) == "Trip plan"
    assert rpc.call("session.title", session_id=sid, title="Other") == {
        "pending": False,
        "title": "Other",
    }


def test_closing_ends_the_row(rpc: RpcProcess, db: SessionDB) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "Hi")

    assert rpc.call("session.close", session_id=sid)["closed"] is True

    assert rpc.call("session.close", session_id=sid)["closed"] is False
    row = db.get_session(key)
    assert row is not None
    assert row["end_reason"] == "tui_close"
    again = rpc.call("session.resume", session_id=key)["session_id"]
    rpc.said(again, "Still there?")
    row = db.get_session(key)
    assert row is not None
    assert row["ended_at"] is None


def test_a_deleted_session_is_in_the_trash(
    rpc: RpcProcess, program: Program, converse: Converse, db: SessionDB
) -> None:
    converse("s1", "Hello", "Yes?", title="Old")

    assert rpc.call("session.delete", session_id="s1") == {"deleted": "s1"}

    assert db.get_session("s1") is None
    assert "Old" in program.run("sessions", "trash", "list").out


def test_lists_show_the_newest_activity_first(rpc: RpcProcess, converse: Converse) -> None:
    converse("s1", "Hello", "Yes?", title="Old")
    converse("s2", "Machine", source="tool")
    sid, key = begun(rpc)
    rpc.said(sid, "Hi")

    listed = rpc.call("session.list")["sessions"]

    assert [each["id"] for each in listed] == [key, "s1"]
    assert rpc.call("session.most_recent")["session_id"] == key
    active = rpc.call("session.active_list")["sessions"]
    assert [(each["id"], each["status"], each["current"]) for each in active] == [
        (sid, "idle", True)
    ]


def test_what_a_front_end_brings_along_is_stored_with_the_first_prompt(
    rpc: RpcProcess, home: Path, server: ModelServer
) -> None:
    seed = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    sid, key = begun(rpc, messages=seed)
    assert not rows(home)

    rpc.said(sid, "c")

    assert [content for _, content in said(home, key)][:3] == ["a", "b", "c"]
    assert [each["content"] for each in server.requests[0].messages][1:] == ["a", "b", "c"]


def test_a_session_is_saved_as_a_file(rpc: RpcProcess) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "Hi")

    first = Path(rpc.call("session.save", session_id=sid)["file"])
    second = Path(rpc.call("session.save", session_id=sid)["file"])

    assert first != second
    saved = json.loads(first.read_text())
    assert saved["session_id"] == key
    assert saved["messages"][0]["content"] == "Hi"
    assert first.stat().st_mode & 0o077 == 0


# ------------------------------------------------------------------------- other programs, ends


def test_what_another_program_writes_between_turns_is_seen(
    rpc: RpcProcess, db: SessionDB, server: ModelServer
) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "One")
    db.append_message(key, "user", "From elsewhere")
    db.append_message(key, "assistant", "Heard")

    assert rpc.call("session.history", session_id=sid)["count"] == 4
    db.append_message(key, "user", "And again")
    db.append_message(key, "assistant", "Yes")
    rpc.said(sid, "Two")

    told = [each["content"] for each in server.requests[-1].messages][1:]
    assert told[2:] == ["From elsewhere", "Heard", "And again", "Yes", "Two"]


def test_what_nobody_has_seen_is_not_taken_back(rpc: RpcProcess, db: SessionDB) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "One")
    db.append_message(key, "user", "From elsewhere")

    assert rpc.code("session.undo", session_id=sid) == 4018

    assert db.message_count(key) == 3
    assert rpc.call("session.undo", session_id=sid)["removed"] == 1


def test_a_session_that_another_program_deletes_is_not_brought_back(
    rpc: RpcProcess, db: SessionDB
) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "One")
    db.delete_sessions([key])

    rpc.call("prompt.submit", session_id=sid, text="Two")

    assert rpc.event("message.complete")["status"] == "error"
    assert "no longer exists" in rpc.event("error")["message"]
    assert db.get_session(key) is None


def test_killed_in_the_middle_the_prompt_is_stored(
    program: Program, configured: Path, server: ModelServer, home: Path
) -> None:
    server.script(hang("Once"))
    with RpcProcess(program) as rpc:
        sid, key = begun(rpc)
        rpc.call("prompt.submit", session_id=sid, text="Keep this")
        rpc.event("message.delta")
        rpc.process.send_signal(signal.SIGKILL)
        rpc.process.wait(PATIENCE_S)

    assert said(home, key) == [("user", "Keep this")]
    with RpcProcess(program) as again:
        found = again.call("session.resume", session_id=key)
        assert found["messages"] == [{"role": "user", "text": "Keep this"}]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_end_what_was_said_so_far_is_kept(
    rpc: RpcProcess, server: ModelServer, home: Path, number: signal.Signals
) -> None:
    server.script(hang("Once"))
    sid, key = begun(rpc)
    rpc.call("prompt.submit", session_id=sid, text="Tell")
    rpc.event("message.delta")

    rpc.process.send_signal(number)

    assert rpc.process.wait(PATIENCE_S) == 0
    assert said(home, key) == [("user", "Tell"), ("assistant", "Once")]
    assert rows(home)[0]["end_reason"] == "tui_close"


def test_when_the_input_ends_replies_are_written_to_their_end(
    rpc: RpcProcess, server: ModelServer, home: Path
) -> None:
    server.script(text("One two three four", delay=0.1))
    sid, key = begun(rpc)
    rpc.call("prompt.submit", session_id=sid, text="Count")

    assert rpc.end() == 0

    assert rpc.event("message.complete")["text"] == "One two three four"
    assert said(home, key)[1] == ("assistant", "One two three four")


def test_a_peer_that_is_gone_ends_it(
    program: Program, configured: Path, server: ModelServer, home: Path
) -> None:
    server.script(hang("Once"))
    process = program.start("rpc", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None

    def ask(method: str, **params: object) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        frame = {"id": 1, "method": method, "params": params}
        process.stdin.write(json.dumps(frame).encode() + b"\n")
        process.stdin.flush()
        while "id" not in (found := json.loads(process.stdout.readline())):
            pass
        return dict(found["result"])

    created = ask("session.create")
    ask("prompt.submit", session_id=created["session_id"], text="Tell")
    while b"message.delta" not in process.stdout.readline():
        pass

    process.stdout.close()  # and standard input stays open

    assert process.wait(PATIENCE_S) == 0
    process.stdin.close()
    process.stderr.close()
    assert said(home, created["stored_session_id"]) == [("user", "Tell"), ("assistant", "Once")]


# ------------------------------------------------------------------------- commands and settings


def test_commands_are_done(rpc: RpcProcess, db: SessionDB) -> None:
    sid, key = begun(rpc)
    rpc.said(sid, "Hi")

    assert (
        "is now “A name”"
        in rpc.call("slash.exec", session_id=sid, command="/title A name")["output"]
    )
    assert db.get_session_title(key) == "A name"
    retried = rpc.call("command.dispatch", session_id=sid, name="retry")
    assert (retried["type"], retried["message"]) == ("send", "Hi")
    assert rpc.call("session.history", session_id=sid)["count"] == 0
    rpc.said(sid, "Hi again")
    undone = rpc.call("command.dispatch", session_id=sid, name="undo")
    assert (undone["type"], undone["message"]) == ("prefill", "Hi again")
    assert "no command" in rpc.call("slash.exec", session_id=sid, command="/nonsense")["output"]
    assert "in this version" in rpc.call("slash.exec", session_id=sid, command="/voice")["output"]
    assert key in rpc.call("session.status", session_id=sid)["output"]
    new = rpc.call("slash.exec", session_id=sid, command="/new Second")
    assert "New session" in new["output"]
    rpc.said(sid, "Hello anew")
    assert db.get_session_by_title("Second") is not None


def test_commands_are_listed_and_completed(rpc: RpcProcess) -> None:
    catalog = rpc.call("commands.catalog")
    words = "Undo the last messages and, in chats, their file changes"
    assert ["/undo", f"{words} (usage: /undo [number | restore])"] in catalog["pairs"]
    assert catalog["canon"]["/fork"] == "/branch"
    assert rpc.call("command.resolve", name="/FORK")["canonical"] == "branch"
    found = rpc.call("complete.slash", text="/ti")
    assert [each["text"] for each in found["items"]] == ["title"]
    assert found["replace_from"] == 1


def test_paths_are_completed(rpc: RpcProcess, tmp_path: Path) -> None:
    place = tmp_path / "work"
    (place / "docs").mkdir(parents=True)
    (place / "data.csv").write_text("")
    (place / ".hidden").write_text("")
    sid, _ = begun(rpc, cwd=str(place))

    found = rpc.call("complete.path", session_id=sid, word="d")["items"]

    assert [each["text"] for each in found] == ["docs/", "data.csv"]
    absolute = rpc.call("complete.path", word=f"{place}/.h")["items"]
    assert [each["text"] for each in absolute] == [f"{place}/.hidden"]
    assert rpc.call("complete.path", word="/nowhere/at/all/x")["items"] == []


def test_a_model_is_chosen_for_one_session(rpc: RpcProcess, server: ModelServer) -> None:
    sid, _ = begun(rpc)
    other, _ = begun(rpc)

    chosen = rpc.call("config.set", session_id=sid, key="model", value="b-model")

    assert (chosen["value"], chosen["scope"]) == ("b-model", "session")
    rpc.said(sid, "Hi")
    rpc.said(other, "Hi")
    assert [each.json["model"] for each in server.requests] == ["b-model", "a-model"]
    assert rpc.call("config.get", session_id=sid, key="model")["value"] == "b-model"
    assert rpc.call("config.get", key="model")["value"] == "a-model"


def test_changed_settings_count_at_the_next_prompt(
    rpc: RpcProcess, server: ModelServer, home: Path
) -> None:
    sid, _ = begun(rpc)
    rpc.said(sid, "Hi")
    settings = json.loads((home / "config.yaml").read_text())
    settings["model"]["default"] = "c-model"
    (home / "config.yaml").write_text(json.dumps(settings))

    rpc.said(sid, "And now?")

    assert [each.json["model"] for each in server.requests] == ["a-model", "c-model"]


def test_settings_are_told_without_secrets(rpc: RpcProcess) -> None:
    answers = [
        rpc.call("config.get", key="full"),
        rpc.call("config.show"),
        rpc.call("model.options"),
        rpc.call("config.get", key="provider"),
        rpc.call("setup.status"),
    ]

    assert "k-123456" not in json.dumps(answers)
    assert answers[0]["config"]["model"]["default"] == "a-model"
    assert answers[2]["model"] == "a-model"
    assert answers[4]["provider_configured"] is True


def test_without_a_model_the_prompt_is_refused(program: Program, home: Path) -> None:
    with RpcProcess(program) as rpc:
        sid, _ = begun(rpc)

        with pytest.raises(RpcError) as caught:
            rpc.call("prompt.submit", session_id=sid, text="Hi")

        assert caught.value.code == 5032
        assert "model" in caught.value.message
        assert rpc.call("setup.status")["provider_configured"] is False
    assert not rows(home)


def test_a_model_that_refuses_is_told(rpc: RpcProcess, server: ModelServer, home: Path) -> None:
    server.script(error(401, "bad key"))
    sid, key = begun(rpc)

    complete = rpc.said(sid, "Hi")

    assert complete["status"] == "error"
    assert "401" in complete["text"]
    assert said(home, key) == [("user", "Hi")]
