"""The assistant asks for a path or a host, the person answers, and a command really reaches it."""

from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.sandbox.grants import Access, Level
from hermes_desktop.agent.types import ToolCall
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.user_requests import ApprovalChoice
from tests.fakes.tool_stage import KEY, SID, ToolStage, call

pytestmark = pytest.mark.needs("sandbox")


@pytest.fixture
def plan(closed: ToolStage) -> Path:
    path = closed.user_home / "Documents/plan.txt"
    path.parent.mkdir()
    path.write_text("the plan")
    return path


def asks(name: Path | str, access: str = "read", why: str = "I need it.", **more: str) -> ToolCall:
    kind = more.get("kind", "path")
    return call("ask_access", kind=kind, what=str(name), access=access, why=why)


def runs(command: str, call_id: str = "c2") -> ToolCall:
    return call("terminal", call_id, command=command)


def answered(stage: ToolStage, choice: ApprovalChoice | None, *calls: ToolCall) -> list[Any]:
    leave = stage.person(lambda _request: choice)
    try:
        return stage.result(*calls)
    finally:
        leave()


def test_the_question_says_what_is_wanted_why_and_what_has_happened(
    closed: ToolStage, plan: Path
) -> None:
    (closed.cwd / "link").symlink_to(plan)
    why = "To\x1b[2J compare\nwith\u202e it."
    failed, _ = answered(closed, "deny", runs(f"cat {plan}; exit 1"), asks("link", why=why))
    [request] = closed.asked

    assert failed["not_granted"] == [f"path {plan}"]
    assert "ask_access" in failed["note"]
    assert (request.kind, request.tool, request.subject) == ("approval", "ask_access", "path")
    assert request.headline == "Let commands read this file?"
    assert request.text == str(plan)
    assert request.choices == ("once", "session", "deny")
    led, consequence, happened, said = request.why
    assert led == "The assistant named it “link”, which leads here."
    assert consequence == "Commands can then read this file."
    assert happened.startswith(f"“cat {plan}; exit 1” was started and failed.")
    mark = "\N{REPLACEMENT CHARACTER}"
    assert said == f"The assistant says: “To{mark}[2J compare with{mark} it.”"


def test_what_has_not_happened_is_not_said(closed: ToolStage, plan: Path) -> None:
    closed.config["terminal"] = {"allowed_hosts": ["example.org"]}
    answered(closed, "deny", runs("exit 1"), asks(plan.parent, "write"))
    [request] = closed.asked

    assert request.headline == "Let commands change this folder?"
    assert request.why[0] == (
        "Commands can then change and delete everything in this folder. They can also send it to "
        "example.org."
    )
    assert request.why[1] == "No command has failed without it so far."


def test_once_is_for_the_next_command(closed: ToolStage, plan: Path) -> None:
    granted, first, second = answered(
        closed, "once", asks(plan), runs(f"cat {plan}"), runs(f"cat {plan}", "c3")
    )

    assert granted["granted"] == "for the next command only"
    assert (first["output"], first["exit_code"]) == ("the plan", 0)
    assert second["exit_code"]
    assert second["not_granted"] == [f"path {plan}"]


def test_once_lapses_with_the_turn(closed: ToolStage, plan: Path) -> None:
    answered(closed, "once", asks(plan))
    [failed] = closed.result(runs(f"cat {plan}"))

    assert failed["exit_code"]


def test_a_background_command_is_a_command_too(closed: ToolStage, plan: Path) -> None:
    started = call("terminal", "c2", command=f"cat {plan}", background=True)
    name = answered(closed, "once", asks(plan), started)[1]["session_id"]
    [ended] = closed.result(call("process", action="wait", session_id=name))
    again = closed.result(call("terminal", "c2", command=f"cat {plan}", background=True))
    name = again[0]["session_id"]
    [failed] = closed.result(call("process", action="wait", session_id=name))

    assert ended["output"] == "the plan"
    assert failed["not_granted"] == [f"path {plan}"]


def test_reading_is_not_writing(closed: ToolStage, plan: Path) -> None:
    answered(closed, "session", asks(plan.parent), runs(f"cat {plan}; echo x >> {plan}"))
    assert plan.read_text() == "the plan"

    answered(closed, "session", asks(plan.parent, "write"), runs(f"echo x >> {plan}"))
    assert plan.read_text() == "the planx\n"


def test_a_session_does_not_share_what_it_was_granted(closed: ToolStage, plan: Path) -> None:
    answered(closed, "session", asks(plan))
    [here] = closed.result(runs(f"cat {plan}"))  # by another agent of the same session
    [elsewhere] = closed.result(runs(f"cat {plan}"), session_id="20260304_120000_fedcba")
    again = closed.result(asks(plan))
    closed.queue.end_session(SID)
    [after] = closed.result(runs(f"cat {plan}"))

    assert here["output"] == "the plan"
    assert elsewhere["exit_code"]
    assert again[0]["granted"] == "already"
    assert after["exit_code"]
    assert len(closed.asked) == 1


def test_always_is_kept_in_the_settings(closed: ToolStage, plan: Path) -> None:
    kept: list[Access] = []
    closed.keep_grant = kept.append
    granted, read = answered(closed, "always", asks(plan), runs(f"cat {plan}"))
    [after] = closed.result(runs(f"cat {plan}"))  # an agent made of settings without it

    assert closed.asked[0].choices == ("once", "session", "always", "deny")
    assert kept == [Access("path", str(plan))]
    assert granted["granted"] == "always"
    assert read["output"] == "the plan"
    assert after["exit_code"]  # so that taking it out of the settings ends it


def test_what_cannot_be_kept_is_for_the_session(closed: ToolStage, plan: Path) -> None:
    def refuse(_access: Access) -> None:
        raise RefusedError("The file is not writable.")

    closed.keep_grant = refuse
    granted, read = answered(closed, "always", asks(plan), runs(f"cat {plan}"))

    assert granted["granted"] == "in this session"
    assert "The file is not writable." in granted["note"]
    assert read["output"] == "the plan"


@pytest.mark.parametrize("choice", ["deny", None])
def test_without_a_yes_everything_stays_as_it_is(
    closed: ToolStage, plan: Path, choice: ApprovalChoice | None
) -> None:
    closed.config["approvals"] = {"timeout": 1}
    denied, failed = answered(closed, choice, asks(plan), runs(f"cat {plan}"))

    assert denied["error"].startswith("Denied.")
    assert failed["exit_code"]
    assert closed.grants.of(SID) == frozenset()


def test_where_nobody_can_be_asked_it_is_denied(closed: ToolStage, plan: Path) -> None:
    [denied] = closed.result(asks(plan))

    assert "nobody can be asked" in denied["error"]


@pytest.mark.parametrize("name", ["~", "/", "~/.ssh", "~/.hermes/config.yaml", "/etc/shadow"])
def test_what_is_never_granted_is_refused_without_a_question(closed: ToolStage, name: str) -> None:
    [refused] = answered(closed, "always", asks(name))

    assert refused["error"].startswith("Refused without asking.")
    assert closed.asked == []


def test_private_hosts_are_refused_and_a_public_one_is_asked_about(closed: ToolStage) -> None:
    [refused] = answered(closed, "session", asks("192.168.0.1", kind="host"))
    [granted] = answered(closed, "session", asks("https://example.org/x", kind="host"))

    assert "private" in refused["error"]
    assert granted["host"] == "example.org"
    [request] = closed.asked
    assert (request.subject, request.text) == ("host", "example.org")
    assert request.headline == "Let commands reach this host?"
    code = "import urllib.request\nurllib.request.urlopen('http://other.example/')"
    (closed.cwd / "try.py").write_text(code)
    [failed] = closed.result(runs("/usr/bin/python3 try.py"))
    assert failed["not_granted"] == ["host other.example"]  # by the proxy, which now runs


def test_approvals_that_are_off_do_not_open_the_sandbox(closed: ToolStage, plan: Path) -> None:
    closed.config["approvals"] = {"mode": "off"}
    closed.queue.set_free(KEY, free=True)
    [denied] = answered(closed, "deny", asks(plan))

    assert denied["error"].startswith("Denied.")
    assert len(closed.asked) == 1


def test_a_link_that_was_changed_since_grants_nothing(closed: ToolStage) -> None:
    """A command with the folder beside it could have replaced what was granted."""
    shared, other = closed.user_home / "shared", closed.user_home / "other"
    (shared / "data").mkdir(parents=True)
    other.mkdir()
    (other / "letter").write_text("dear")
    answered(closed, "session", asks(shared / "data"))
    (shared / "data").rmdir()
    (shared / "data").symlink_to(other)
    [failed] = closed.result(runs(f"cat {shared}/data/letter {other}/letter"))

    assert "dear" not in failed["output"]


def test_the_tool_is_there_only_where_commands_are_sandboxed(closed: ToolStage) -> None:
    def offered() -> set[str]:
        return {each["function"]["name"] for each in closed.tools().definitions()}

    assert "ask_access" in offered()
    closed.config["agent"] = {"disabled_toolsets": ["terminal"]}
    assert "ask_access" not in offered()
    del closed.config["agent"]
    closed.config["approvals"] = {"sandboxed_commands": "off"}
    assert "ask_access" not in offered()
    closed.level = Level.NONE
    closed.config["approvals"] = {"sandboxed_commands": "auto"}
    assert "ask_access" not in offered()


def test_at_level_b_a_host_opens_the_network_and_the_question_says_so(held: ToolStage) -> None:
    answered(held, "deny", asks("example.org", kind="host"))
    [request] = held.asked

    if held.level is Level.PARTLY_HELD:
        assert request.headline == "Let commands use the network?"
        assert "every host" in request.why[0]
    else:
        assert request.headline == "Let commands reach this host?"
