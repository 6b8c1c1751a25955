"""``hermes-desktop sessions show``: finding one session and reading it."""

import json

import pytest

from hermes_desktop.agent.steering import Hint, with_hints
from hermes_desktop.state import SessionDB
from tests.fakes.program import Converse, Program


def test_by_id_title_and_beginning_of_the_id(program: Program, converse: Converse) -> None:
    converse("20260101_100000_aaaaaa", "Hello there", "Good morning", title="Greetings")
    converse("20260202_100000_bbbbbb", "Something else")

    for wanted in ("20260101_100000_aaaaaa", "Greetings", "20260101", " Greetings "):
        done = program.run("sessions", "show", wanted)
        assert done.code == 0, done.err
        assert done.out.startswith("Greetings\ncli · 2 messages · a-model\n")
        assert "\nHello there\n" in done.out
        assert "\nGood morning\n" in done.out
        assert "ID 20260101_100000_aaaaaa\n" in done.out


def test_a_title_means_the_newest_of_its_row(program: Program, converse: Converse) -> None:
    converse("s1", "The old one", title="Trip plan")
    converse("s2", "The new one", title="Trip plan #2")

    assert "The new one" in program.run("sessions", "show", "Trip plan").out


def test_not_found(program: Program, converse: Converse) -> None:
    converse("s1", "Hello")

    done = program.run("sessions", "show", "no such thing")

    assert done.code == 3
    assert done.out == ""
    title, *rest = done.err.splitlines()
    assert title == "There is no session “no such thing”."
    assert rest
    assert all(line.startswith("  ") for line in rest)


def test_ambiguous(program: Program, converse: Converse) -> None:
    converse("20260101_100000_aaaaaa", "Hello")
    converse("20260101_110000_bbbbbb", "Hello")

    done = program.run("sessions", "show", "20260101")

    assert done.code == 4
    assert "20260101" in done.err


@pytest.mark.parametrize("wanted", ["", "   "])
def test_an_empty_name_is_wrong_usage(program: Program, converse: Converse, wanted: str) -> None:
    converse("the-only-one", "Hello")

    assert program.run("sessions", "show", wanted).code == 2


def test_wildcards_are_plain_characters(program: Program, converse: Converse) -> None:
    converse("20260101_100000_aaaaaa", "Hello")

    for wanted in ("2026%", "%", "_", "2026*"):
        assert program.run("sessions", "show", wanted).code == 3


def test_bytes_that_are_no_text(program: Program, converse: Converse) -> None:
    converse("s1", "Hello")
    wanted = b"caf\xe9".decode("utf-8", "surrogateescape")

    done = program.run("sessions", "show", wanted)

    assert done.code == 3
    assert "caf\ufffd" in done.err


def test_limit_shows_the_last_messages(program: Program, converse: Converse) -> None:
    converse("s1", *(f"message {number}" for number in range(9)))

    done = program.run("sessions", "show", "s1", "--limit", "2", "--json")

    assert [message["content"] for message in json.loads(done.out)] == ["message 7", "message 8"]


def test_long_sessions_are_complete_and_in_order(program: Program, db: SessionDB) -> None:
    db.create_session("s1", "cli")
    texts = [f"message {number}" for number in range(1203)]
    db.replace_messages("s1", [{"role": "user", "content": text} for text in texts])

    done = program.run("sessions", "show", "s1", "--json")

    assert [message["content"] for message in json.loads(done.out)] == texts


def test_a_chain_is_read_as_one_conversation(program: Program, db: SessionDB) -> None:
    db.create_session("root", "cli")
    db.append_message("root", "user", "At first")
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")
    db.append_message("tip", "user", "And then")

    for wanted in ("root", "tip"):
        shown = json.loads(program.run("sessions", "show", wanted, "--json").out)
        assert [(one["session_id"], one["content"]) for one in shown] == [
            ("root", "At first"),
            ("tip", "And then"),
        ]


def test_tool_calls_and_results(program: Program, db: SessionDB) -> None:
    db.create_session("s1", "cli")
    db.append_message("s1", "user", "How many?")
    call = {"name": "terminal", "arguments": json.dumps({"command": "ls | wc -l"})}
    calls = [{"id": "c1", "type": "function", "function": call}]
    db.append_message("s1", "assistant", "", tool_calls=calls)
    output = "\n".join(f"line {number}" for number in range(20))
    content = json.dumps({"output": output, "exit_code": 0})
    db.append_message("s1", "tool", content, tool_call_id="c1", tool_name="terminal")

    text = program.run("sessions", "show", "s1").out
    (_, asked, answered) = json.loads(program.run("sessions", "show", "s1", "--json").out)

    assert "▸ terminal  ls | wc -l\n    line 0\n" in text
    assert "    … 14 more lines\n" in text
    assert asked["tool_calls"][0]["function"]["name"] == "terminal"
    assert (answered["tool_name"], json.loads(answered["content"])["output"]) == (
        "terminal",
        output,
    )


def test_what_is_hidden_stays_hidden(program: Program, db: SessionDB) -> None:
    db.create_session("s1", "telegram", system_prompt="You are secret.")
    db.append_message("s1", "session_meta", None)
    db.append_message("s1", "user", "Shown", api_content="what the model saw")
    taken_back = db.append_message("s1", "user", "Taken back")
    db.rewind_to_message("s1", taken_back)

    for arguments in ([], ["--json"]):
        out = program.run("sessions", "show", "s1", *arguments).out
        assert "Shown" in out
        for secret in ("You are secret", "what the model saw", "Taken back", "session_meta"):
            assert secret not in out


def test_structured_content_and_unknown_roles(program: Program, db: SessionDB) -> None:
    db.create_session("s1", "cli")
    parts = [{"type": "text", "text": "Look at this"}, {"type": "image_url", "image_url": {}}]
    db.append_message("s1", "user", parts)
    db.append_message("s1", "oracle", "Hm.")

    done = program.run("sessions", "show", "s1")

    assert done.code == 0
    assert "Look at this" in done.out
    assert "oracle · " in done.out


def test_an_empty_session(program: Program, converse: Converse) -> None:
    converse("s1")

    assert "This session has no messages." in program.run("sessions", "show", "s1").out
    assert program.run("sessions", "show", "s1", "--json").out == "[]\n"


def test_control_characters_of_a_transcript(program: Program, converse: Converse) -> None:
    converse("s1", "a\x1b[2Jb\r\nc\rd\u202ee")

    done = program.run("sessions", "show", "s1")

    assert "a␛[2Jb\nc␍d\ufffde\n" in done.out


def test_what_was_said_to_a_running_turn_is_shown_with_its_tool(
    program: Program, db: SessionDB
) -> None:
    db.create_session("s1", "cli")
    result = with_hints('{"output": "done", "exit_code": 0}', (Hint("rather tea"),))
    db.append_message("s1", "user", "Do it")
    db.append_message("s1", "tool", result, tool_call_id="c", tool_name="terminal")
    shown = program.run("sessions", "show", "s1").out
    assert "    done\n    You said in the meantime: rather tea\n" in shown
    assert "[THE PERSON" not in shown
