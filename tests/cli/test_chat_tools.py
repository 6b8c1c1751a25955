"""``hermes-desktop chat`` with tools: asked at a terminal, denied where nobody is."""

import json
from pathlib import Path

from tests.fakes.model_server import ModelServer, text, tool_call
from tests.fakes.program import Program, rows
from tests.fakes.terminal import at_terminal


def told(server: ModelServer) -> dict[str, object]:
    result: dict[str, object] = json.loads(server.requests[-1].messages[-1]["content"])
    return result


def script(server: ModelServer, folder: Path) -> None:
    (folder / "build").mkdir(exist_ok=True)
    server.script(tool_call("terminal", command="rm -rf build", workdir=str(folder)))
    server.script(text("That is all."))


def test_a_person_at_the_terminal_allows_it(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    script(server, tmp_path)
    done = at_terminal(program, "chat", "-q", "Remove build", typed=b"once\n")
    assert done.code == 0
    assert "May this be done?" in done.out
    assert "rm -rf build" in done.out
    assert "It deletes folders" in done.out
    assert "That is all." in done.out
    assert told(server)["exit_code"] == 0
    assert not (tmp_path / "build").exists()
    assert rows(configured)[0]["tool_call_count"] == 1


def test_anything_else_denies(
    program: Program, configured: Path, server: ModelServer, tmp_path: Path
) -> None:
    script(server, tmp_path)
    done = at_terminal(program, "chat", "-q", "Remove build", typed=b"\n")
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
    assert len(server.requests) == 3
    told_all = b"".join(request.body for request in server.requests).decode()
    assert "PATH=" in told_all
    assert "[secret] [secret]" in told_all
    kept = [file for file in configured.rglob("*") if file.is_file() and file.name != ".env"]
    stored = "".join(file.read_bytes().decode("utf-8", "replace") for file in kept)
    for value in (*planted.values(), "planted-token-00003"):
        assert value not in told_all
        assert value not in stored
