"""The assistant asks: what reaches the person, and what the answer, or none, becomes."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hermes_desktop.agent.tools.asking.clarify import MOST_CHOICES, TIMEOUT_S, question_timeout
from hermes_desktop.agent.tools.asking.request_queue import Attendant, chosen
from hermes_desktop.core.user_requests import UserRequest
from tests.fakes.tool_stage import KEY, SID, ToolStage, call

if TYPE_CHECKING:
    from hermes_desktop.agent.types import ToolProgress


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("tool", ["terminal", "clarify"])
def test_the_time_of_the_user_is_no_part_of_a_duration(stage: ToolStage, tool: str) -> None:
    """The user takes 0.6 s; what was allowed takes 0.2 s."""

    def later(answer: Callable[..., object], request_id: str, words: str) -> None:
        threading.Timer(0.6, answer, (request_id, words)).start()

    stage.person(lambda asked: later(stage.queue.answer, asked.id, "once"))
    stage.answers(lambda asked: later(stage.questions.answer, asked.id, "80"))
    (stage.cwd / "build").mkdir()
    heard: list[ToolProgress] = []
    wanted = {"terminal": {"command": "sleep 0.2; rm -rf build"}, "clarify": {"question": "Port?"}}
    stage.model.calls.append((call(tool, **wanted[tool]),))
    stage.agent().run_conversation("Do it", tool_callback=heard.append)
    assert (stage.cwd / "build").exists() == (tool == "clarify")
    seconds = heard[-1].seconds
    assert heard[-1].ok
    assert seconds is not None
    assert (0.2 if tool == "terminal" else 0.0) <= seconds < 0.6


def ask(stage: ToolStage, **arguments: Any) -> dict[str, Any]:
    return stage.result(call("clarify", **arguments))[0]


def test_the_answer_is_the_result(stage: ToolStage) -> None:
    seen: list[UserRequest] = []

    def say(question: UserRequest) -> str:
        seen.append(question)
        return "Port 8080, please"

    stage.answers(say)
    told = ask(stage, question="Which port?", choices=["80", "443"])
    assert told == {
        "question": "Which port?",
        "choices_offered": ["80", "443"],
        "user_response": "Port 8080, please",
    }
    assert (seen[0].text, seen[0].choices) == ("Which port?", ("80", "443"))
    assert (seen[0].session_key, seen[0].session_id) == (KEY, SID)
    assert seen[0].expires_at - seen[0].asked_at == TIMEOUT_S


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2", "green"),
        (" 2. ", "green"),
        ("#1", "red"),
        ("２", "green"),
        ("3", "3"),
        ("0", "0"),
        ("²", "²"),
        ("2 of them", "2 of them"),
        ("9" * 5000, "9" * 5000),
        ("blue\n", "blue"),
        ("a\ud800", "a�"),
    ],
)
def test_a_number_is_the_choice_that_has_it(said: str, meant: str) -> None:
    assert chosen(("red", "green"), said) == meant


def test_an_answer_has_an_end() -> None:
    assert len(chosen((), "x" * 100_000)) == 8000


def test_a_skipped_question_says_so(stage: ToolStage) -> None:
    stage.answers(lambda _question: "  ")
    told = ask(stage, question="Which port?")
    assert told["user_response"] is None
    assert "skipped" in told["note"]


def test_nobody_there(stage: ToolStage) -> None:
    told = ask(stage, question="Which port?")
    assert told["user_response"] is None
    assert "Nobody can be asked here" in told["note"]


def test_silence(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path, agent={"clarify_timeout": 1})
    stage.answers(lambda _question: None)
    assert "Nobody answered in time" in ask(stage, question="Which port?")["note"]
    stage.close()


def test_the_program_ends_meanwhile(stage: ToolStage) -> None:
    def say(_question: UserRequest) -> None:
        threading.Thread(target=stage.questions.close).start()

    stage.answers(say)
    assert "being closed" in ask(stage, question="Which port?")["note"]
    assert "being closed" in ask(stage, question="And now?")["note"]


def test_whoever_could_be_asked_leaves(stage: ToolStage) -> None:
    leave = stage.answers(lambda _question: threading.Thread(target=leave).start())
    assert "no longer be reached" in ask(stage, question="Which port?")["note"]


def test_one_of_two_leaves_and_the_other_answers(stage: ToolStage) -> None:
    first = Attendant(lambda _question: True, lambda _question: None)
    leave = stage.questions.attend(first)

    def say(_question: UserRequest) -> str:
        leave()
        return "8080"

    stage.answers(say)
    assert ask(stage, question="Which port?")["user_response"] == "8080"


def test_who_comes_later_is_shown_what_waits(stage: ToolStage) -> None:
    seen: list[str] = []

    def come(_question: UserRequest) -> None:
        def later() -> None:
            stage.questions.attend(Attendant(lambda _question: True, answer))

        threading.Thread(target=later).start()

    def answer(question: UserRequest) -> None:
        seen.append(question.id)
        stage.questions.answer(question.id, "8080", by="rpc")

    stage.answers(come)
    assert ask(stage, question="Which port?")["user_response"] == "8080"
    assert len(seen) == 1


def test_the_first_answer_counts(stage: ToolStage) -> None:
    ended: list[tuple[str, str]] = []
    both: list[bool] = []

    def twice(question: UserRequest) -> None:
        both.append(stage.questions.answer(question.id, "one", by="window"))
        both.append(stage.questions.answer(question.id, "two", by="telegram"))

    for _ in range(2):
        stage.questions.attend(
            Attendant(
                lambda _question: True,
                twice,
                lambda _question, reply: ended.append((reply.text, reply.by)),
            )
        )
    assert ask(stage, question="Which?")["user_response"] == "one"
    assert both == [True, False, False, False]
    assert ended == [("one", "window")] * 2


def test_stopping_the_turn_ends_it(stage: ToolStage) -> None:
    agent = stage.agent()
    stage.model.calls.append((call("clarify", question="Which port?"),))
    stage.answers(lambda _question: threading.Thread(target=agent.interrupt).start())
    result = agent.run_conversation("Do it")
    assert result["interrupted"]
    stored = stage.db.get_messages(SID)
    assert "stopped" in next(each["content"] for each in stored if each["role"] == "tool")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"question": "  "}, "blank"),
        ({"question": "x" * 2001}, "longer than 2000"),
        ({"question": "?", "choices": ["a"] * 7}, f"More than {MOST_CHOICES}"),
        ({"question": "?", "choices": ["a", ""]}, "Choice 2"),
        ({"question": "?", "choices": ["a" * 201]}, "longer than 200"),
        ({"question": "?", "choices": "a"}, "must be of type array"),
        ({}, "Missing: question"),
    ],
)
def test_what_makes_no_sense_is_not_asked(
    stage: ToolStage, arguments: dict[str, Any], why: str
) -> None:
    asked: list[UserRequest] = []
    stage.answers(asked.append)
    assert why in ask(stage, **arguments)["error"]
    assert asked == []


def test_a_question_is_plain_and_without_secrets(stage: ToolStage) -> None:
    stage.redactor.learn("hunter2hunter2")
    seen: list[UserRequest] = []

    def say(question: UserRequest) -> str:
        seen.append(question)
        return "hunter2hunter2"

    stage.answers(say)
    told = ask(
        stage,
        question="\x1b]0;x\x07Is it hunter2hunter2?\r\nOr \u202enot",
        choices=["a\nb", "a b", "\x1b[2Jc"],
    )
    assert seen[0].text == "�]0;x�Is it [secret]?\nOr �not"
    assert seen[0].choices == ("a b", "�[2Jc")
    assert told["user_response"] == "[secret]"
    assert "hunter2" not in told["question"]


@pytest.mark.parametrize("value", [None, True, "60", 0, -1, 1e9, [], float("nan")])
def test_times_that_make_no_sense(value: object) -> None:
    assert question_timeout({"agent": {"clarify_timeout": value}}) == TIMEOUT_S


def test_the_time_that_is_set() -> None:
    assert question_timeout({"agent": {"clarify_timeout": 3600}}) == 3600
    assert question_timeout({"agent": 3}) == TIMEOUT_S


def test_observers_hear_of_waiting_alone(stage: ToolStage) -> None:
    heard: list[bool] = []
    leave = stage.questions.observe(lambda _question, waits: heard.append(waits))
    ask(stage, question="Nobody is there?")
    assert heard == []
    stage.answers(lambda _question: "yes")
    ask(stage, question="Somebody is there?")
    leave()
    ask(stage, question="And now?")
    assert heard == [True, False]


def test_two_questions_of_one_answer_come_one_after_the_other(stage: ToolStage) -> None:
    open_at_once: list[int] = []

    def say(question: UserRequest) -> str:
        open_at_once.append(len(stage.questions.pending()))
        return f"yes to {question.text}"

    stage.answers(say)
    told = stage.result(call("clarify", "c1", question="A?"), call("clarify", "c2", question="B?"))
    assert [each["user_response"] for each in told] == ["yes to A?", "yes to B?"]
    assert open_at_once == [1, 1]
