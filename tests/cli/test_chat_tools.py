"""``hermes-desktop chat`` with tools: asked at a terminal, denied where nobody is."""

import json
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, text, tool_call
from tests.fakes.program import Program, rows
from tests.fakes.terminal import END_OF_INPUT, at_terminal

ASKED = "o = once"


def told(server: ModelServer) -> dict[str, object]:
    # What names the conversation may be cut off by the end of the program.
    whole = [each for each in server.requests if each.body]
    result: dict[str, object] = json.loads(whole[-1].messages[-1]["content"])
    return result


def script(server: ModelServer, folder: Path) -> None:
    (folder / "build").mkdir(exist_ok=True)
    server.script(tool_call("terminal", command="rm -rf build", workdir=str(folder)))
    server.script(text("That is all."))


def test_a_person_at_the_terminal_allows_it(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    script(server, tmp_path)
    done = at_terminal(program, "chat", "-q", "Remove build", typed=b"once\n", answer_at=ASKED)
    assert done.code == 0
    assert "Allow this?" in done.out
    assert "rm -rf build" in done.out
    assert "It deletes folders" in done.out
    assert "That is all." in done.out
    assert told(server)["exit_code"] == 0
    assert not (tmp_path / "build").exists()
    assert rows(configured)[0]["tool_call_count"] == 1


def test_what_was_typed_before_is_no_answer(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    script(server, tmp_path)
    done = at_terminal(
        program, "chat", "-q", "Remove build", ahead=b"once\n", typed=b"deny\n", answer_at=ASKED
    )
    assert "Denied." in done.out
    assert (tmp_path / "build").exists()


def test_anything_else_denies(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    script(server, tmp_path)
    done = at_terminal(program, "chat", "-q", "Remove build", typed=b"\n", answer_at=ASKED)
    assert done.code == 0
    assert "Denied." in done.out
    assert "denied it" in str(told(server)["error"])
    assert (tmp_path / "build").exists()


def test_without_a_terminal_nobody_is_asked(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    script(server, tmp_path)
    done = program.run("chat", "-q", "Remove build")
    assert (done.code, done.out) == (0, "That is all.\n")
    assert "nobody can be asked" in str(told(server)["error"])
    assert (tmp_path / "build").exists()


def test_planted_secrets_reach_nobody(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    planted = {"OPENAI_API_KEY": "planted-key-0001", "MY_DB_PASSWORD": "planted-password-2"}
    program.environ.update(planted)
    (configured / ".env").write_text("EXTRA_TOKEN=planted-token-00003\n")
    (tmp_path / "notes.txt").write_text("planted-token-00003 planted-password-2\n")
    server.script(tool_call("terminal", command="env; cat notes.txt", workdir=str(tmp_path)))
    server.script(tool_call("read_file", path=str(tmp_path / "notes.txt")))
    server.script(text("That is all."))
    assert program.run("chat", "-q", "Look").code == 0
    assert len([each for each in server.requests if each.body]) == 3
    told_all = b"".join(request.body for request in server.requests).decode()
    assert "PATH=" in told_all
    assert "[secret] [secret]" in told_all
    kept = [file for file in configured.rglob("*") if file.is_file() and file.name != ".env"]
    stored = "".join(file.read_bytes().decode("utf-8", "replace") for file in kept)
    for value in (*planted.values(), "planted-token-00003"):
        assert value not in told_all
        assert value not in stored


def ask(server: ModelServer) -> None:
    server.script(tool_call("clarify", question="Which port?\x1b[2J", choices=["80", "443"]))
    server.script(text("That is all."))


def test_a_person_at_the_terminal_is_asked(
    program: Program, configured: Path, server: ModelServer
) -> None:
    ask(server)
    done = at_terminal(program, "chat", "-q", "Open a port", typed=b"2\n", answer_at="skip]")
    assert done.code == 0
    assert "The assistant asks:\n    Which port?\N{REPLACEMENT CHARACTER}[2J\n" in done.out
    assert "  1. 80\n  2. 443\n" in done.out
    assert "That is all." in done.out
    assert told(server)["user_response"] == "443"


def test_an_answer_of_ones_own_and_none(
    program: Program, configured: Path, server: ModelServer
) -> None:
    for typed, answer in ((b"8080, or what is free\n", "8080, or what is free"), (b"\n", None)):
        ask(server)
        done = at_terminal(program, "chat", "-q", "Open a port", typed=typed, answer_at="skip]")
        assert done.code == 0
        assert told(server)["user_response"] == answer
    assert "Skipped." in done.out


def test_the_end_of_input_is_no_answer(
    program: Program, configured: Path, server: ModelServer
) -> None:
    ask(server)
    done = at_terminal(program, "chat", "-q", "Open a port", typed=END_OF_INPUT, answer_at="skip]")
    assert done.code == 0
    assert "no longer be reached" in str(told(server)["note"])


def test_silence_at_the_terminal_is_told(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    settings = configured / "config.yaml"
    approvals = {"timeout": 1, "sandboxed_commands": "off"}
    quick = {"agent": {"clarify_timeout": 1}, "approvals": approvals}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **quick}))
    ask(server)
    done = at_terminal(program, "chat", "-q", "Open a port")
    assert "No answer in time; the assistant continues" in done.out
    assert "Nobody answered in time" in str(told(server)["note"])
    script(server, tmp_path)
    done = at_terminal(program, "chat", "-q", "Remove build")
    assert "No answer in time: denied." in done.out
    assert "in time" in str(told(server)["error"])


def test_ctrl_c_at_a_question_ends_the_turn(
    program: Program, configured: Path, server: ModelServer
) -> None:
    ask(server)
    done = at_terminal(program, "chat", "-q", "Open a port", interrupt_at="skip]")
    assert done.code == 5
    assert "Stopped." in done.out


def test_without_a_terminal_the_assistant_hears_at_once(
    program: Program, configured: Path, server: ModelServer
) -> None:
    ask(server)
    done = program.run("chat", "-q", "Open a port")
    assert (done.code, done.out) == (0, "That is all.\n")
    assert "Nobody can be asked here" in str(told(server)["note"])


def test_a_model_that_repeats_a_secret(
    program: Program, configured: Path, server: ModelServer
) -> None:
    program.environ["MY_DB_PASSWORD"] = "planted-password-2"
    settings = json.loads((configured / "config.yaml").read_text())
    settings["mcp_servers"] = {"a": {"command": "x", "env": {"A_TOKEN": "planted-token-00003"}}}
    (configured / "config.yaml").write_text(json.dumps(settings))
    server.script(text("They are planted-password-2 and planted-token-00003, both."))
    done = program.run("chat", "-q", "Which?")
    assert done.out == "They are [secret] and [secret], both.\n"
    with (configured / "state.db").open("rb") as stream:
        assert b"planted-" not in stream.read()


def test_without_bubblewrap_every_command_is_asked_about(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    settings = json.loads((configured / "config.yaml").read_text())
    (configured / "config.yaml").write_text(json.dumps(settings | {"approvals": {}}))
    program.environ["PATH"] = str(tmp_path / "nothing")
    server.script(tool_call("terminal", command="echo done", workdir=str(tmp_path)))
    server.script(text("That is all."))
    done = at_terminal(program, "chat", "-q", "Do it", typed=b"once\n", answer_at=ASKED)
    assert "Allow this?" in done.out
    assert "without a sandbox" in done.out or "a sandbox that holds only" in done.out
    assert told(server)["output"] == "done\n"


@pytest.mark.needs("sandbox")
def test_a_person_at_the_terminal_grants_a_folder_for_one_command(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    work, plan = tmp_path / "work", tmp_path / "papers/plan.txt"
    for folder in (work, plan.parent):
        folder.mkdir()
    plan.write_text("the plan")
    settings = json.loads((configured / "config.yaml").read_text())
    more = {"approvals": {}, "terminal": {"cwd": str(work)}}
    (configured / "config.yaml").write_text(json.dumps(settings | more))
    server.script(tool_call("terminal", command=f"cat {plan}"))
    server.script(tool_call("ask_access", kind="path", what=str(plan.parent), why="To read it."))
    server.script(tool_call("terminal", command=f"cat {plan}"))
    server.script(text("That is all."))
    done = at_terminal(program, "chat", "-q", "Read the plan", typed=b"o\n", answer_at=ASKED)
    assert "Let commands read this folder?" in done.out
    assert f"    {plan.parent}" in done.out
    assert "was started and failed" in done.out
    assert "o = once, for the next command" in done.out
    assert "a = always for this path" in done.out
    assert told(server)["output"] == "the plan"


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("typed", [b"outside\n", b"o\n"])
def test_a_person_at_the_terminal_runs_a_command_outside_the_sandbox(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path, typed: bytes
) -> None:
    work, letter = tmp_path / "work", tmp_path / "letter.txt"
    work.mkdir()
    letter.write_text("dear")
    settings = json.loads((configured / "config.yaml").read_text())
    more = {"approvals": {}, "terminal": {"cwd": str(work)}}
    (configured / "config.yaml").write_text(json.dumps(settings | more))
    command = "cat ../letter.txt || { echo 'cannot open display' >&2; exit 1; }"
    server.script(tool_call("terminal", command=command), text("That is all."))
    done = at_terminal(program, "chat", "-q", "Show it", typed=typed, answer_at="outside = run")
    assert "Run this outside the sandbox, once?" in done.out
    assert "Outside the sandbox nothing holds this command" in done.out
    assert "[D = deny, outside = run it outside the sandbox, once]" in done.out
    answer = told(server)
    assert (answer["exit_code"] == 0) == (typed == b"outside\n")
    assert ("dear" in answer["output"]) == (typed == b"outside\n")
