"""Each tool on real files, real programs and a real store."""

import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hermes_desktop.agent.tools.base import ToolError
from hermes_desktop.agent.tools.files import file_access, file_tools, search_files
from hermes_desktop.agent.tools.files.file_access import require_unchanged, stamp_of
from hermes_desktop.agent.tools.memory import memory_prompt
from hermes_desktop.agent.tools.web.page_text import page_text
from hermes_desktop.agent.tools.web.web_fetch import public_address
from hermes_desktop.core.public_addresses import is_public
from hermes_desktop.core.user_requests import ApprovalChoice, UserRequest
from tests.fakes.tool_stage import SID, ToolStage, call


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


def one(stage: ToolStage, name: str, **arguments: Any) -> dict[str, Any]:
    return stage.result(call(name, **arguments))[0]


# Files


def test_reading_in_parts(stage: ToolStage) -> None:
    (stage.cwd / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    got = one(stage, "read_file", path="a.txt", offset=3, limit=2)
    assert got == {"content": "3|line 3\n4|line 4", "total_lines": 10, "next_offset": 5}
    assert "no file" in one(stage, "read_file", path="b.txt")["error"]
    assert "folder" in one(stage, "read_file", path=".")["error"]


def test_what_is_no_text(stage: ToolStage) -> None:
    (stage.cwd / "a.bin").write_bytes(b"\x7fELF\x00")
    assert "not text" in one(stage, "read_file", path="a.bin")["error"]
    os.mkfifo(stage.cwd / "pipe")
    assert "not a regular file" in one(stage, "read_file", path="pipe")["error"]


def test_a_file_that_is_no_utf_8_is_not_written_back(stage: ToolStage) -> None:
    """Each of its other characters would be gone."""
    path = stage.cwd / "old.txt"
    path.write_bytes("Grüße an alle".encode("latin-1"))
    refused = one(stage, "patch", path="old.txt", old_string="alle", new_string="dich")
    assert "UTF-8" in refused["error"]
    assert path.read_bytes() == "Grüße an alle".encode("latin-1")
    assert "alle" in one(stage, "read_file", path="old.txt")["content"]


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="only Linux has such files")
def test_an_endless_file_that_says_it_is_empty(stage: ToolStage) -> None:
    stage.config["approvals"] = {"mode": "off"}
    assert "too large" in one(stage, "read_file", path="/proc/self/pagemap")["error"]


def test_numbers_that_are_none(stage: ToolStage) -> None:
    """Every call gets an answer; one that cannot be read must not end the turn."""
    (stage.cwd / "a.txt").write_text("a")
    for odd in ("--5", "9" * 5000, "-", "5 5", 1e300, "٣x"):
        assert "limit must be" in one(stage, "read_file", path="a.txt", limit=odd)["error"]
    assert one(stage, "read_file", path="a.txt", limit=" 5 ")["content"] == "1|a"


def test_searching_in_what_is_no_file(stage: ToolStage) -> None:
    os.mkfifo(stage.cwd / "pipe")
    assert "neither" in one(stage, "search_files", pattern="x", path="pipe")["error"]


def test_half_a_character(stage: ToolStage) -> None:
    """JSON can hold what no program, file or terminal can be told."""
    for name, arguments in (
        ("terminal", {"command": "echo \ud83d"}),
        ("write_file", {"path": "a.txt", "content": "\ud83d"}),
        ("read_file", {"path": "\ud83d"}),
        ("search_files", {"pattern": "\ud83d"}),
        ("clarify", {"question": "Which?", "choices": ["\ud83d"]}),
    ):
        assert "half a character" in one(stage, name, **arguments)["error"]


def test_names_of_folders_hide_no_secrets_from_the_search(stage: ToolStage) -> None:
    for name in ("a:b", "a\nb", "a\rb"):
        folder = stage.cwd / name
        folder.mkdir()
        (folder / ".env").write_text("PASSWORD=hidden\n")
        (folder / "notes").write_text("PASSWORD is asked for\n")
    found = one(stage, "search_files", pattern="PASSWORD")["matches"]
    assert sorted(each[len(str(stage.cwd)) :] for each in found) == [
        f"/{name}/notes:1:PASSWORD is asked for" for name in ("a\nb", "a\rb", "a:b")
    ]


def test_writing_and_patching(stage: ToolStage) -> None:
    assert one(stage, "write_file", path="new/a.txt", content="ä b b\n")["bytes"] == 7
    path = stage.cwd / "new" / "a.txt"
    assert (
        "2 times" in one(stage, "patch", path="new/a.txt", old_string="b", new_string="c")["error"]
    )
    changed = one(
        stage, "patch", path="new/a.txt", old_string="b", new_string="c", replace_all=True
    )
    assert changed["replaced"] == 2
    assert path.read_text() == "ä c c\n"
    missing = one(stage, "patch", path="new/a.txt", old_string="zz", new_string="c")
    assert "does not occur" in missing["error"]


@pytest.mark.parametrize("path", ["../x", "/etc/hostname", "~/x", "link/x", "../work2/x"])
def test_outside_of_the_folder_a_person_is_asked(stage: ToolStage, path: str) -> None:
    (stage.cwd / "link").symlink_to(stage.user_home)
    (stage.user_home / "work2").mkdir()
    stage.person(lambda _request: "deny")
    assert "denied" in one(stage, "read_file", path=path)["error"]
    assert "denied" in one(stage, "write_file", path=path, content="x")["error"]
    assert len(stage.asked) == 2
    assert "outside the working folder" in stage.asked[0].why[0]


def test_what_is_trusted_or_secret_is_asked_for_inside_too(stage: ToolStage) -> None:
    (stage.cwd / ".git" / "hooks").mkdir(parents=True)
    (stage.cwd / ".env").write_text("A=1")
    stage.person(lambda _request: "deny")
    assert "denied" in one(stage, "write_file", path=".git/hooks/x", content="x")["error"]
    assert "denied" in one(stage, "read_file", path=".env")["error"]


def test_the_keys_of_hermes_are_never_shown(stage: ToolStage) -> None:
    (stage.home / ".env").write_text("KEY=1")
    stage.person(lambda _request: "once")
    for path in ("~/.hermes/.env", "../.hermes/auth.json", "~/.hermes/state.db"):
        assert "Refused" in one(stage, "read_file", path=path)["error"]
        assert "Refused" in one(stage, "write_file", path=path, content="x")["error"]
    assert stage.asked == []


def test_a_mark_is_not_written_over_a_secret(stage: ToolStage) -> None:
    stage.redactor.learn("hunter2hunter2")
    (stage.cwd / "c.ini").write_text("a = hunter2hunter2\nb = 1\n")
    assert one(stage, "read_file", path="c.ini")["content"] == "1|a = [secret]\n2|b = 1"
    text = "a = [secret]\nb = 2\n"
    assert "[secret]" in one(stage, "write_file", path="c.ini", content=text)["error"]
    assert "replaced" in one(stage, "patch", path="c.ini", old_string="b = 1", new_string="b = 2")
    assert (stage.cwd / "c.ini").read_text() == "a = hunter2hunter2\nb = 2\n"


def test_lines_of_a_file_keep_their_ends(stage: ToolStage) -> None:
    file = stage.cwd / "a.txt"
    for old, new in (("one\ntwo", "1\n2\n3"), ("one\r\ntwo", "1\r\n2\n3"), ("one", "1")):
        file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nend\r\n")
        assert one(stage, "patch", path="a.txt", old_string=old, new_string=new)["replaced"] == 1
        wanted = new.replace("\r\n", "\n").replace("\n", "\r\n").encode()
        rest = b"\r\nend\r\n" if "two" in old else b"\r\ntwo\r\nend\r\n"
        assert file.read_bytes() == b"\xef\xbb\xbf" + wanted + rest
    file.write_bytes(b"one\r\ntwo\n")  # mixed ones are nobody's to change
    assert (
        "does not occur"
        in one(stage, "patch", path="a.txt", old_string="one\ntwo", new_string="x")["error"]
    )


def test_a_path_that_leads_elsewhere_after_the_word_is_not_touched(stage: ToolStage) -> None:
    outside = stage.cwd.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("harmless")
    (stage.home / ".env").write_text("KEY=secret-of-the-home")

    def swap(_request: UserRequest) -> ApprovalChoice:
        (outside / "a.txt").unlink(missing_ok=True)
        (outside / "a.txt").symlink_to(stage.home / ".env")
        return "once"

    stage.person(swap)
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        (outside / "a.txt").unlink(missing_ok=True)
        (outside / "a.txt").write_text("harmless")
        assert "leads elsewhere" in one(stage, name, path="../outside/a.txt", **more)["error"]
    assert (stage.home / ".env").read_text() == "KEY=secret-of-the-home"


def test_what_somebody_else_wrote_meanwhile_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    seen = stamp_of(file)
    require_unchanged(file, "a.txt", seen)
    for change in (lambda: file.write_text("two!"), lambda: os.utime(file, (1, 1)), file.unlink):
        seen = stamp_of(file)
        change()
        with pytest.raises(ToolError, match="has changed since you read it"):
            require_unchanged(file, "a.txt", seen)


def test_searching(stage: ToolStage) -> None:
    (stage.cwd / "a.py").write_text("def one():\n    pass\n")
    (stage.cwd / ".env").write_text("def secret\n")
    found = one(stage, "search_files", pattern="^def ")["matches"]
    assert found == [f"{stage.cwd}/a.py:1:def one():"]
    names = one(stage, "search_files", pattern="*.py", target="files")["matches"]
    assert names == [f"{stage.cwd}/a.py"]
    assert one(stage, "search_files", pattern="nothing")["matches"] == []
    assert "error" in one(stage, "search_files", pattern="(")
    assert one(stage, "search_files", pattern="--help")["matches"] == []


# Programs


def test_a_command_and_its_ends(stage: ToolStage) -> None:
    assert one(stage, "terminal", command="echo out; echo err >&2; exit 3") == {
        "output": "out\nerr\n", "exit_code": 3, "error": None,
    }  # fmt: skip
    late = one(stage, "terminal", command="sleep 30", timeout=1)
    assert "ended after 1 s" in late["error"]
    long = one(stage, "terminal", command="yes | head -c 200000")
    assert "left out" in long["output"]
    assert len(long["output"]) < 51_000
    failed = one(stage, "terminal", command="seq 1 1000000; echo it failed")
    assert failed["output"].endswith("\n1000000\nit failed\n")
    assert failed["output"].startswith("1\n2\n")
    flood = one(stage, "terminal", command="yes")
    assert "too long" in flood["error"]
    (stage.cwd / "sub").mkdir()
    assert one(stage, "terminal", command="pwd", workdir="sub")["output"] == f"{stage.cwd}/sub\n"


def test_relative_paths_are_judged_where_it_runs(stage: ToolStage) -> None:
    got = one(stage, "terminal", command="echo x > hosts", workdir="/etc")
    assert "nobody can be asked" in got["error"]


def test_nothing_outlives_a_command(stage: ToolStage) -> None:
    one(stage, "terminal", command="(sleep 2; touch late) & echo started")
    got = one(stage, "terminal", command="sleep 2.5; ls")
    assert "late" not in got["output"]


SECRETS = {
    "OPENAI_API_KEY": "sk-planted-000000000000",
    "TELEGRAM_BOT_TOKEN": "123456789:AAplanted_planted_planted_plant",
    "DB_PASSWORD": "planted-password",
    "ODD_NAME": "ghp_plantedplantedplanted00",
}


def test_secrets_reach_nobody(stage: ToolStage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "hermes_desktop")
    (stage.home / ".env").write_text("EXTRA_TOKEN=planted-in-env-file\n")
    (stage.cwd / "notes.txt").write_text("token: planted-in-env-file\n")
    stage.environ |= SECRETS
    for value in (*SECRETS.values(), "planted-in-env-file"):
        stage.redactor.learn(value)
    stage.config["approvals"] = {"mode": "off"}
    calls = [
        call("terminal", "1", command="env; set; export -p; cat /proc/self/environ"),
        call("terminal", "2", command='echo "[$OPENAI_API_KEY$DB_PASSWORD$ODD_NAME]"'),
        call("terminal", "3", command="cat ~/.hermes/.env notes.txt"),
        call("terminal", "4", command="python3 -c 'import os; print(dict(os.environ))'"),
        call("read_file", "5", path="notes.txt"),
        call("search_files", "6", pattern="token"),
        call("read_file", "7", path="~/.hermes/.env"),
    ]
    results = stage.result(*calls)
    assert results[1]["output"] == "[]\n"
    told = json.dumps([dict(each) for r in stage.model.requests for each in r.messages])
    stored = json.dumps(stage.db.get_messages(SID))
    log = (stage.home / "desktop" / "approvals" / "decisions.jsonl").read_text()
    for value in (*SECRETS.values(), "planted-in-env-file"):
        for place in (told, stored, log, caplog.text):
            assert value not in place


def test_half_a_secret_is_not_told_either(stage: ToolStage) -> None:
    secret = "planted-secret-of-forty-characters-00001"
    stage.redactor.learn(secret)
    stage.config["approvals"] = {"mode": "off"}
    for before in (280, 1980, 9980):
        (stage.cwd / "a.txt").write_text("x" * before + secret + "y" * 60_000 + "\n")
        calls = (
            call("terminal", "1", command="cat a.txt"),
            call("read_file", "2", path="a.txt"),
            call("search_files", "3", pattern="x"),
        )
        told = json.dumps(stage.result(*calls))
        assert "xxxx" in told
        assert secret[:8] not in told


def test_a_working_folder_that_is_gone_is_named(stage: ToolStage) -> None:
    calls = (call("terminal", "1", command="rmdir ../work"), call("terminal", "2", command="ls"))
    stage.model.calls = [calls]
    stage.person(lambda _request: "once")
    stage.agent().run_conversation("Do it")
    rows = [row["content"] for row in stage.db.get_messages(SID) if row["role"] == "tool"]
    assert "is gone" in rows[1]


# The web


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "::1",
     "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "224.0.0.1",
     "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "fec0::1", "::127.0.0.1", "192.0.0.8", "192.88.99.1",
     "198.18.0.1", "2001::1", "2001:db8::1", "3fff::1", "5f00::1", "100::1", "ff02::1",
     "100.64.0.1", "255.255.255.255", "nonsense"],
)  # fmt: skip
def test_addresses_of_ones_own(address: str) -> None:
    assert not is_public(address)


def test_addresses_of_the_internet() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")


@pytest.mark.parametrize(
    "url",
    ["http://localhost/", "http://127.0.0.1/", "http://[::1]/", "http://2130706433/",
     "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://0/", "http://[::]/",
     "http://[::ffff:7f00:1]/", "http://[::ffff:127.0.0.1]/", "HTTP://LOCALHOST/",
     "http://\u2460\u2461\u2466.0.0.1/", "http://127\u30020\u30020\u30021/", "http:127.0.0.1",
     "http://x@127.0.0.1/", "http://127.0.0.1:80:80/", "file:///etc/passwd", "ftp://example.org/", "http://user:p@example.org/",
     "http://127.0.0.1:22/", "http:///x", "http://example.org:99999/", "gopher://x/"],
)  # fmt: skip
def test_what_is_not_fetched(url: str) -> None:
    with pytest.raises(ToolError):
        public_address(urlsplit(url))


def test_a_server_of_ones_own_hears_nothing(stage: ToolStage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        assert "error" in one(stage, "web_fetch", url=f"http://127.0.0.1:{port}/")
        with pytest.raises(TimeoutError):
            server.accept()


def test_an_address_with_a_secret_is_not_asked(stage: ToolStage) -> None:
    stage.redactor.learn("hunter2hunter2")
    got = one(stage, "web_fetch", url="https://example.org/?q=hunter2hunter2")
    assert "secret" in got["error"]


def test_the_words_of_a_page() -> None:
    page = (
        "<html><head><title>A  page</title><style>x{}</style></head><body><h1>Head</h1>"
        "<script>alert(1)</script><p>One &amp; two</p><ul><li>first<li>second</ul></body></html>"
    )
    assert page_text(page) == "# A page\n\nHead\n\nOne & two\n\n- first\n- second"


# Notes


def test_todo(stage: ToolStage) -> None:
    agent_calls = [
        call("todo", "1", todos=[{"id": "a", "content": "look"}, {"id": "b", "content": "do"}]),
        call(
            "todo", "2", todos=[{"id": "a", "content": "look", "status": "completed"}], merge=True
        ),
        call("todo", "3"),
        call("todo", "4", todos=[{"content": ""}]),
    ]
    results = stage.result(*agent_calls)
    assert [(t["id"], t["status"]) for t in results[2]["todos"]] == [
        ("a", "completed"),
        ("b", "pending"),
    ]
    assert "no content" in results[3]["error"]


def test_memory(stage: ToolStage) -> None:
    got = one(stage, "memory", action="add", target="user", content="Likes tea")
    assert got["entries"] == ["Likes tea"]
    one(stage, "memory", action="add", target="user", content="Lives in Ulm")
    one(stage, "memory", action="replace", target="user", old_text="tea", content="Likes coffee")
    path = stage.home / "memories" / "USER.md"
    assert path.read_text() == "Likes coffee\n§\nLives in Ulm"
    assert path.stat().st_mode & 0o777 == 0o600
    too_long = one(stage, "memory", action="add", target="user", content="x" * 1400)
    assert "too long to remember" in too_long["error"]
    assert "in 0 entries" in one(stage, "memory", action="remove", target="user")["error"]
    one(stage, "memory", action="remove", target="user", old_text="Ulm")
    assert path.read_text() == "Likes coffee"
    assert "Likes coffee" in memory_prompt(stage.home)


def test_the_prompt_of_a_session_stays_what_it_was(stage: ToolStage) -> None:
    one(stage, "memory", action="add", target="memory", content="The door is green")
    first = stage.model.requests[0].messages[0]["content"]
    assert "The door is green" not in first
    assert str(stage.cwd) in first
    stage.agent().run_conversation("Again")
    assert stage.model.requests[-1].messages[0]["content"] == first


def test_earlier_conversations(stage: ToolStage) -> None:
    stage.db.create_session("old", "cli")
    stage.db.append_message("old", "user", "The harbour opens at nine")
    hits = one(stage, "session_search", query="harbour")["hits"]
    assert [(hit["session_id"], hit["role"]) for hit in hits] == [("old", "user")]


def test_what_this_program_keeps_is_never_shown(stage: ToolStage) -> None:
    """Stored secrets, approvals, and the files that turns changed."""
    other = stage.home / "profiles" / "other"
    for folder in (stage.home, other):
        (folder / "desktop" / "undo").mkdir(parents=True)
        (folder / "desktop" / "undo" / "kept").write_text("password of somebody")
    stage.person(lambda _request: "once")
    for path in ("desktop/undo/kept", "desktop/secrets.json", "profiles/other/desktop/undo/kept"):
        assert "Refused" in one(stage, "read_file", path=f"~/.hermes/{path}")["error"]
        assert "Refused" in one(stage, "write_file", path=f"~/.hermes/{path}", content="")["error"]
    (stage.cwd / "link").symlink_to(stage.home / "desktop")
    assert "Refused" in one(stage, "read_file", path="link/undo/kept")["error"]
    assert stage.asked == []
    found = one(stage, "search_files", pattern="password of", path="~/.hermes")
    assert found == {"matches": []}


def test_a_folder_replaced_by_a_link_after_the_check(stage: ToolStage) -> None:
    """A program in the folder can swap it while a tool works; the kernel then refuses."""
    (stage.user_home / "private").mkdir()
    (stage.user_home / "private" / "a.txt").write_text("private")
    (stage.cwd / "sub").mkdir()
    (stage.cwd / "sub" / "a.txt").write_text("inside")
    for name, more in (
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("patch", {"old_string": "private", "new_string": "x"}),
    ):
        with pytest.MonkeyPatch.context() as patched:
            for check in ("for_reading", "for_writing"):
                real = getattr(file_access, check)

                def swapping(*given: Any, real: Any = real, **named: Any) -> Any:
                    place = real(*given, **named)
                    (stage.cwd / "sub").rename(stage.cwd / "moved")
                    (stage.cwd / "sub").symlink_to(stage.user_home / "private")
                    return place

                patched.setattr(file_tools, check, swapping)
            assert "leads elsewhere" in one(stage, name, path="sub/a.txt", **more)["error"]
        (stage.cwd / "sub").unlink()
        (stage.cwd / "moved").rename(stage.cwd / "sub")
    assert (stage.user_home / "private" / "a.txt").read_text() == "private"


def test_modes_of_written_files(stage: ToolStage) -> None:
    script = stage.cwd / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    one(stage, "write_file", path="run.sh", content="new")
    one(stage, "write_file", path="new.sh", content="new")
    assert script.stat().st_mode & 0o777 == 0o755
    assert (stage.cwd / "new.sh").stat().st_mode & 0o777 == 0o644
    assert sorted(each.name for each in stage.cwd.iterdir()) == ["new.sh", "run.sh"]


@pytest.mark.parametrize("target", ["content", "files"])
def test_a_search_stays_in_the_folder_that_was_checked(stage: ToolStage, target: str) -> None:
    (stage.user_home / "private").mkdir()
    (stage.user_home / "private" / "other.txt").write_text("hello from outside")
    (stage.cwd / "sub" / "deep").mkdir(parents=True)
    (stage.cwd / "sub" / "deep" / "a.txt").write_text("hello from inside")
    (stage.cwd / "sub" / "link").symlink_to(stage.user_home / "private")
    real = search_files.for_reading

    def swapping(*given: Any) -> Any:
        place = real(*given)
        (stage.cwd / "sub").rename(stage.cwd / "moved")
        (stage.cwd / "sub").symlink_to(stage.user_home / "private")
        return place

    pattern = "hello" if target == "content" else "*.txt"
    found = one(stage, "search_files", pattern=pattern, path="sub", target=target)["matches"]
    assert [each.partition(":")[0] for each in found] == [f"{stage.cwd}/sub/deep/a.txt"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search_files, "for_reading", swapping)
        answer = one(stage, "search_files", pattern=pattern, path="sub", target=target)
    assert "leads elsewhere" in answer["error"]
