"""Outside the sandbox, once: only the user chooses it, and nothing else is let out by that."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.hints import ungrantable_need
from hermes_desktop.core.user_requests import ApprovalChoice
from tests.fakes.tool_stage import KEY, ToolStage, call

pytestmark = pytest.mark.needs()

REACHES_OUT = "cat ../letter.txt || { echo 'cannot open display: :0' >&2; exit 1; }"
"""Succeeds outside; inside, it fails as a program does that needs the screen."""


@pytest.fixture
def stage(held: ToolStage) -> ToolStage:
    (held.user_home / "letter.txt").write_text("dear")
    return held


@pytest.fixture
def partly(tmp_path: Path) -> Iterator[ToolStage]:
    """A stage of level B as it is by default: every command is asked about."""
    stage = ToolStage(tmp_path, level=Level.PARTLY_HELD)
    (stage.user_home / "letter.txt").write_text("dear")
    yield stage
    stage.close()


def runs(stage: ToolStage, choice: ApprovalChoice | None, *commands: str, **more: Any) -> list[Any]:
    """Return what commands of one turn answer, every question of which has the same answer."""
    leave = stage.person(lambda _request: choice)
    calls = [
        call("terminal", f"c{number}", command=command, **more)
        for number, command in enumerate(commands)
    ]
    try:
        return stage.result(*calls)
    finally:
        leave()


def test_a_command_that_the_sandbox_fails_is_run_outside_if_the_user_says_so(
    stage: ToolStage,
) -> None:
    [answer] = runs(stage, "outside", REACHES_OUT)
    [request] = stage.asked

    assert (answer["output"], answer["exit_code"]) == ("dear", 0)
    assert "once outside" in answer["note"]
    assert request.headline == "Run this outside the sandbox, once?"
    assert request.choices == ("outside", "deny")
    assert (request.kind, request.tool, request.text) == ("approval", "terminal", REACHES_OUT)
    assert "It seems to need the screen, which the sandbox never has." in request.why


def test_it_is_for_that_one_run(stage: ToolStage) -> None:
    runs(stage, "outside", REACHES_OUT)
    [other] = runs(stage, "outside", "cat ../letter.txt")
    [again] = runs(stage, "deny", REACHES_OUT)

    assert other["exit_code"]
    assert again["exit_code"] == 1
    assert len(stage.asked) == 2


@pytest.mark.parametrize("choice", ["deny", "once", "session", "always", None])
def test_any_other_answer_leaves_it_inside(stage: ToolStage, choice: ApprovalChoice | None) -> None:
    stage.config["approvals"] = {"timeout": 1}
    first, second = runs(stage, choice, REACHES_OUT, REACHES_OUT)

    assert [each["exit_code"] for each in (first, second)] == [1, 1]
    assert "has not chosen that" in first["note"]
    assert len(stage.asked) == 1  # a user who declined is not asked again in this turn


def test_where_nobody_can_be_asked_it_stays_inside(stage: ToolStage) -> None:
    [answer] = stage.result(call("terminal", command=REACHES_OUT))

    assert answer["exit_code"] == 1


@pytest.mark.needs("sandbox")
def test_approvals_that_are_off_do_not_let_it_out(closed: ToolStage) -> None:
    (closed.user_home / "letter.txt").write_text("dear")
    closed.config["approvals"] = {"mode": "off"}
    closed.queue.set_free(KEY, free=True)
    [answer] = runs(closed, "deny", REACHES_OUT)

    assert answer["exit_code"] == 1
    assert len(closed.asked) == 1


@pytest.mark.parametrize(
    "touches",
    [
        "cat ~/.ssh/id_rsa",
        "cat ~/.hermes/.env",
        "echo x > ~/.hermes/config.yaml",
        "echo x >> ~/.config/autostart/x.desktop",
    ],
)
def test_what_touches_keys_or_own_files_is_never_offered(stage: ToolStage, touches: str) -> None:
    [answer] = runs(stage, "outside", f"{touches}; echo 'cannot open display' >&2; exit 1")

    assert answer["exit_code"] == 1
    assert stage.asked == []


def test_a_rule_forbids_it_outside_as_well(stage: ToolStage) -> None:
    stage.config["approvals"] = {"deny": ["cat *"]}
    [answer] = runs(stage, "outside", REACHES_OUT)

    assert "A rule of the user forbids it." in answer["error"]
    assert stage.asked == []


def test_a_success_and_an_ordinary_failure_ask_nothing(stage: ToolStage) -> None:
    fine, broken = runs(stage, "outside", "echo cannot open display", "echo broken; exit 1")

    assert (fine["exit_code"], broken["exit_code"]) == (0, 1)
    assert stage.asked == []


@pytest.mark.needs("landlock")
def test_the_question_of_level_b_offers_it_before_the_start(partly: ToolStage) -> None:
    command = "cat ../letter.txt; true"
    [inside] = runs(partly, "once", command)
    [outside] = runs(partly, "outside", command)
    [again] = runs(partly, "once", command)

    assert partly.asked[0].choices == ("once", "session", "always", "outside", "deny")
    assert [each["output"] == "dear" for each in (inside, outside, again)] == [False, True, False]
    assert len(partly.asked) == 3  # nothing of it is remembered


@pytest.mark.needs("landlock")
def test_a_background_command_is_let_out_and_asked_about_when_written_to(
    partly: ToolStage,
) -> None:
    [started] = runs(partly, "outside", "cat ../letter.txt; cat", background=True)
    name = started["session_id"]
    leave = partly.person(lambda _request: "deny")
    [denied] = partly.result(call("process", action="submit", session_id=name, data="x"))
    leave()
    [ended] = partly.result(call("process", action="kill", session_id=name))

    assert denied["error"].startswith("Denied.")
    assert partly.asked[-1].choices == ("once", "session", "always", "deny")
    assert ended["killed"]


@pytest.mark.needs("landlock")
def test_at_level_b_what_leaves_the_folder_is_asked_about_as_well(partly: ToolStage) -> None:
    partly.config["approvals"] = {"partly_sandboxed_commands": "risky"}
    [inside] = runs(partly, "deny", "echo a")
    [denied] = runs(partly, "deny", "echo b", workdir=str(partly.user_home))

    assert inside["output"] == "a\n"
    assert denied["error"].startswith("Denied.")
    assert [each.text.splitlines()[-1] for each in partly.asked] == ["echo b"]
    assert "such as your home" in partly.asked[0].why[-1]


@pytest.mark.needs("sandbox")
def test_a_question_about_risk_alone_does_not_offer_it(closed: ToolStage) -> None:
    (closed.cwd / "build").mkdir()
    closed.config["approvals"] = {"sandboxed_commands": "risky"}
    runs(closed, "deny", "rm -rf build")
    runs(closed, "deny", "pwd", workdir=str(closed.user_home))

    assert [("outside" in each.choices) for each in closed.asked] == [False, True]


def test_without_a_sandbox_there_is_no_outside(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path, level=Level.NONE)
    runs(stage, "once", "echo cannot open display; exit 1")
    stage.close()

    assert [each.choices for each in stage.asked] == [("once", "session", "always", "deny")]


@pytest.mark.parametrize(
    ("output", "lacks"),
    [
        ('sudo: The "no new privileges" flag is set', "the rights of an administrator"),
        ("Cannot connect to the Docker daemon at unix:///x.", "a service for containers"),
        ("Error: Can't open display: ", "the screen"),
        ("Failed to connect to bus: No such file", "the services of your desktop or system"),
        ("unshare: unshare failed: Operation not permitted", "a sandbox of its own"),
        ("fatal: could not read Username for 'https://x'", "your keys or saved passwords"),
        ("make: *** No rule to make target", ""),
        ("cat: plan.txt: No such file or directory", ""),
    ],
)
def test_what_a_program_says_without_it(output: str, lacks: str) -> None:
    assert ungrantable_need(f"building\n{output}\n") == lacks
