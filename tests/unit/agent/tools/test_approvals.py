"""Who is asked before something is done, and what an answer counts for."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.tools.asking.approvals import ApprovalRules
from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.agent.tools.danger.assessment import judge
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.user_requests import UserRequest
from tests.fakes.tool_stage import KEY, SID, ToolStage, call
from tests.fakes.user_requests import approval_request


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


def remove(stage: ToolStage, name: str = "build") -> dict[str, object]:
    (stage.cwd / name).mkdir(exist_ok=True)
    result: dict[str, object] = stage.result(call("terminal", command=f"rm -rf {name}"))[0]
    return result


def test_harmless_commands_ask_nobody(stage: ToolStage) -> None:
    stage.person(lambda _request: "deny")
    assert stage.result(call("terminal", command="echo hello"))[0] == {
        "output": "hello\n", "exit_code": 0, "error": None,
    }  # fmt: skip
    assert stage.asked == []


def test_where_nobody_can_be_asked_it_is_not_done(stage: ToolStage) -> None:
    assert "nobody can be asked" in str(remove(stage)["error"])
    assert (stage.cwd / "build").exists()


def test_once_is_once(stage: ToolStage) -> None:
    stage.person(lambda _request: "once")
    assert remove(stage)["exit_code"] == 0
    assert not (stage.cwd / "build").exists()
    remove(stage)
    assert len(stage.asked) == 2
    request = stage.asked[0]
    assert (request.text, request.where) == ("rm -rf build", str(stage.cwd))
    assert request.why == ("It deletes folders with all their contents.",)
    assert request.choices == ("once", "session", "always", "deny")


def test_a_session_counts_for_the_very_command(stage: ToolStage) -> None:
    stage.person(lambda _request: "session")
    remove(stage)
    remove(stage)
    assert len(stage.asked) == 1
    remove(stage, "other")
    assert len(stage.asked) == 2


def test_always_outlives_the_program(stage: ToolStage) -> None:
    leave = stage.person(lambda _request: "always")
    remove(stage)
    leave()
    from hermes_desktop.agent.tools.asking.approval_memory import ApprovalStore

    folder = stage.home / "desktop" / "approvals"
    stage.memory = ApprovalStore(folder)
    assert remove(stage)["exit_code"] == 0
    assert (folder / "allowed.json").stat().st_mode & 0o777 == 0o600
    (folder / "allowed.json").write_text("{broken")
    assert "nobody can be asked" in str(remove(stage)["error"])


def test_denied(stage: ToolStage) -> None:
    stage.person(lambda _request: "deny")
    assert "The user denied it" in str(remove(stage)["error"])
    assert (stage.cwd / "build").exists()


def test_time_out_denies(stage: ToolStage) -> None:
    stage.config["approvals"] = {"timeout": 0.2}
    stage.person(lambda _request: None)
    assert "Nobody answered in time" in str(remove(stage)["error"])
    assert stage.queue.pending() == ()


def test_stopping_the_turn_denies(stage: ToolStage) -> None:
    agent = stage.agent()
    stage.queue.attend(Attendant(lambda _r: True, lambda _r: agent.interrupt()))
    stage.model.calls = [(call("terminal", command="rm -rf build"),)]
    (stage.cwd / "build").mkdir()
    assert agent.run_conversation("Do it")["interrupted"]
    assert (stage.cwd / "build").exists()


def test_an_approval_that_comes_after_the_stop_allows_nothing(stage: ToolStage) -> None:
    agent = stage.agent()
    answers: list[bool] = []

    def stop_and_allow(request: UserRequest) -> None:
        agent.interrupt()
        assert stage.queue.pending() == ()
        answers.append(stage.queue.answer(request.id, "once"))

    stage.queue.attend(Attendant(lambda _r: True, stop_and_allow))
    stage.model.calls = [(call("terminal", command="rm -rf build"),)]
    (stage.cwd / "build").mkdir()
    assert agent.run_conversation("Do it")["interrupted"]
    assert answers == [False]
    assert (stage.cwd / "build").exists()


def test_what_is_never_done_is_not_even_asked(stage: ToolStage) -> None:
    stage.config["approvals"] = {"mode": "off"}
    stage.queue.set_free(KEY, free=True)
    stage.person(lambda _request: "once")
    for command in ("rm -rf /", "mkfs.ext4 /dev/sda", ":(){ :|:& };:", "bash -c 'rm -rf ~'"):
        assert "never done" in stage.result(call("terminal", command=command))[0]["error"]
    assert stage.asked == []


def test_deny_rules_stand_over_everything(stage: ToolStage) -> None:
    stage.config["approvals"] = {"mode": "off", "deny": ["git push*"]}
    for command in (
        "git  push origin", "true; git push", "cd . && git push -u origin x", "/usr/bin/git push",
        "g'i't push", "env X=1 git push", "bash -c 'git push'", "timeout 9 nice git push",
        "if true; then git push; fi", "f() { git push; }; f", "echo $(git push)", "echo `git push`",
        "x=push; git $x", "ls | xargs git push", "case x in x) git push;; esac", "git\tpush",
        "(git push)", "git \\\n push", "true &\ngit push", "echo 'unclosed; git push",
        "eval git push", "find . -exec git push ';'",
    ):  # fmt: skip
        assert "rule" in stage.result(call("terminal", command=command))[0]["error"], command
    for command in ("echo git push", "git status", "echo 'git push' > notes"):
        assert not stage.result(call("terminal", command=command))[0]["error"], command


DENIED = {
    "git push*": (
        "git -C . push", "git --no-pager -c a=b push origin", 'f(){ git "$@"; }; f push',
        "f(){ git $1; }; f push", 'git "${a[@]}"', "echo push | xargs git", "git $unknown",
        'run(){ "$@"; }; run git push', "$unknown push", 'git -C "$d" push',
        "git --git-dir=.git push", "command git -C . push", "find . -exec git -C {} push ';'",
    ),
    "rm -rf*": ("rm -r -f x", "rm x -fr", "rm -fvr x", "rm -v -rf x"),
    "docker run * --privileged*": ("docker run -it a --privileged", "docker run --privileged a b"),
    "sudo*": ("sudo ls", "X=1 sudo -u otto ls"),
    "npm publish": ("npm publish", "npm --silent publish"),
}  # fmt: skip
NOT_DENIED = {
    "git push*": (
        "git stash push", "git commit -m push", "git commit -m 'push it'", "git log --grep push",
        'git -C "$d" status', "for f in a b; do git add $f; done", "echo git push", "git pull",
        "$PYTHON -m pytest", "ls | xargs git add", "pushd git",
    ),
    "rm -rf*": ("rm -r x", "rm -f x", "ls -rf", "rmdir -rf"),
    "rm*": ("$EDITOR file", "ls"),
    "npm publish": ("npm publish later", "npm run publish"),
}  # fmt: skip


def forbids(rule: str, command: str) -> bool:
    places = Places(Path("/home/otto/work"), Path("/home/otto"), Path("/home/otto/.hermes"))
    return ApprovalRules(deny=(rule,)).forbid(command, judge(command, places).programs)


def test_a_rule_is_about_a_program_and_its_words() -> None:
    for rule, commands in DENIED.items():
        assert [each for each in commands if not forbids(rule, each)] == [], rule
    for rule, commands in NOT_DENIED.items():
        assert [each for each in commands if forbids(rule, each)] == [], rule


@pytest.mark.parametrize("mode", ["off", False])
def test_a_person_may_switch_asking_off(stage: ToolStage, mode: object) -> None:
    stage.config["approvals"] = {"mode": mode}
    assert remove(stage)["exit_code"] == 0


def test_a_rule_without_a_list_is_a_rule(stage: ToolStage) -> None:
    stage.config["approvals"] = {"mode": "off", "deny": "git push*"}
    assert "rule" in stage.result(call("terminal", command="git push"))[0]["error"]


def test_the_allow_list_is_to_the_letter(stage: ToolStage) -> None:
    stage.config["command_allowlist"] = [" rm -rf build ", "rm -r a b"]
    for other in ("rm -r a\nb", "rm -r 'a b'", "rm  -r a b"):
        assert "nobody" in stage.result(call("terminal", command=other))[0]["error"]
    assert remove(stage)["exit_code"] == 0
    assert "nobody" in str(remove(stage, "build2")["error"])


@pytest.mark.parametrize(
    "section",
    [None, 3, {"mode": "smart"}, {"mode": "what"}, {"mode": None}, {"mode": True}, {"timeout": "x"},
     {"timeout": -1}, {"timeout": True}, {"deny": 5}],
)  # fmt: skip
def test_what_makes_no_sense_counts_as_the_careful_choice(section: object) -> None:
    rules = ApprovalRules.from_mapping({"approvals": section})
    assert (rules.mode, rules.timeout_s, rules.deny) == ("ask", 60.0, ())


def test_decisions_are_written_down_without_secrets(stage: ToolStage) -> None:
    stage.redactor.learn("hunter2hunter2")
    stage.person(lambda _request: "deny")
    stage.result(call("terminal", command="rm -rf hunter2hunter2"))
    path = stage.home / "desktop" / "approvals" / "decisions.jsonl"
    decision = json.loads(path.read_text().splitlines()[-1])
    assert (decision["decision"], decision["tool"]) == ("deny", "terminal")
    assert decision["session_id"] == SID
    assert decision["what"] == "rm -rf [secret]" == stage.asked[0].text
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_asked_cannot_be_shown_as_something_else(stage: ToolStage) -> None:
    stage.person(lambda _request: "deny")
    stage.result(call("terminal", command="rm -rf build # \u202edliub fr- mr\x1b[2K\ufeff"))
    assert not set(stage.asked[0].text) & set("\u202e\x1b\ufeff")
    assert stage.asked[0].text.startswith("rm -rf build # \ufffd")


def test_whoever_is_asked_sees_what_would_be_written(stage: ToolStage) -> None:
    stage.redactor.learn("hunter2hunter2")
    stage.person(lambda _request: "deny")
    path = str(stage.user_home / ".bashrc")
    stage.result(call("write_file", path="~/.bashrc", content="alias ls=evil # hunter2hunter2"))
    assert stage.asked[-1].text == f"{path}\n\nalias ls=evil # [secret]"
    stage.result(call("write_file", path="~/.bashrc", content="x" * 20_000))
    assert stage.asked[-1].text.endswith("x\n… 10000 more characters")
    (stage.user_home / ".bashrc").write_text("one")
    stage.result(call("patch", path="~/.bashrc", old_string="one", new_string="evil"))
    assert stage.asked[-1].text == f"{path}\n\n- one\n+ evil"


def test_answers_that_are_not_offered_do_not_count() -> None:
    queue = RequestQueue(SystemClock())
    shown = threading.Event()
    queue.attend(Attendant(lambda _r: True, lambda _r: shown.set()))
    now = time.time()
    request = approval_request(
        "1", KEY, SID, "", "desktop", "terminal", "x", "/", (), ("once", "deny"), now, now + 60
    )
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(queue.ask(request, threading.Event(), 60.0))
    )
    asking.start()
    assert shown.wait(60)
    assert [each.id for each in queue.pending(KEY)] == ["1"]
    assert queue.pending("other") == ()
    assert not queue.answer("1", "always")
    assert not queue.answer("2", "once")
    assert queue.answer("1", "once")
    asking.join()
    assert not queue.answer("1", "deny")
    assert answers[0].text == "once"


def test_whoever_shows_questions_and_fails_is_as_if_not_there(stage: ToolStage) -> None:
    def fail(_request: UserRequest) -> bool:
        raise RuntimeError("a bug")

    stage.queue.attend(Attendant(fail, fail))
    assert "nobody can be asked" in str(remove(stage)["error"])
