"""Who may answer what waits, and how."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.commands.approval_commands import may_answer, resolve
from hermes_desktop.commands.context import Sender
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.user_requests import ApprovalChoice, UserAnswer, UserRequest
from hermes_desktop.gateway.runner.chat_requests import choice_of, question
from tests.fakes.user_requests import approval_request

KEY = "agent:main:telegram:group:1"
ASKER = Sender("telegram", "1", "group", user_id="7", session_key=KEY)
OTHER = Sender("telegram", "1", "group", user_id="8", session_key=KEY)
ADMIN = Sender("telegram", "1", "group", user_id="9", session_key=KEY, restricted=True)
PLAIN = Sender(
    "telegram", "1", "group", user_id="8", session_key=KEY, restricted=True, is_admin=False
)
OWNER = Sender("desktop", "x", in_window=True, session_key=KEY)


def request(number: int = 1, user_id: str = "7") -> UserRequest:
    now = time.time()
    choices: tuple[ApprovalChoice, ...] = ("once", "session", "deny")
    return approval_request(
        str(number), KEY, "s", user_id, "telegram", "terminal", f"rm -rf x{number}", "/home/otto",
        ("It deletes.",), choices, now, now + 60,
    )  # fmt: skip


@contextmanager
def waiting(*requests: UserRequest) -> Iterator[tuple[RequestQueue, list[UserAnswer]]]:
    queue, stop, answers = RequestQueue(SystemClock()), threading.Event(), list[UserAnswer]()
    shown = threading.Semaphore(0)
    queue.attend(Attendant(lambda _r: True, lambda _r: shown.release()))
    threads = []
    for each in requests:
        thread = threading.Thread(target=lambda r=each: answers.append(queue.ask(r, stop, 60)))
        thread.start()
        threads.append(thread)
        assert shown.acquire(timeout=60)
    yield queue, answers
    stop.set()
    for thread in threads:
        thread.join()


def test_the_one_it_is_done_for_answers_the_oldest() -> None:
    with waiting(request(1), request(2)) as (queue, _):
        assert resolve(queue, ASKER, "once", everything=False) == "Allowed once: rm -rf x1"
        assert resolve(queue, ASKER, "deny", everything=True) == "Denied: rm -rf x2"
        with pytest.raises(RefusedError):
            resolve(queue, ASKER, "once", everything=False)


def test_others_may_only_deny() -> None:
    assert [may_answer(request(), each) for each in (ASKER, OTHER, PLAIN, ADMIN, OWNER)] == [
        True, False, False, True, True,
    ]  # fmt: skip
    assert not may_answer(request(user_id=""), Sender("telegram", "1", user_id=None))
    with waiting(request()) as (queue, answers):
        with pytest.raises(RefusedError, match="cannot allow"):
            resolve(queue, OTHER, "once", everything=False)
        assert answers == []
        assert resolve(queue, OTHER, "deny", everything=False) == "Denied: rm -rf x1"


def test_what_is_not_offered_is_refused() -> None:
    with waiting(request()) as (queue, _), pytest.raises(RefusedError, match="permanently"):
        resolve(queue, ASKER, "always", everything=False)


def test_a_command_leaves_the_sandbox_by_no_word_of_a_chat() -> None:
    with waiting(replace(request(), choices=("outside", "deny"))) as (queue, answers):
        with pytest.raises(RefusedError, match="cannot be allowed here"):
            resolve(queue, OWNER, "once", everything=False)
        assert choice_of("outside") is None
        assert answers == []
        assert resolve(queue, OWNER, "deny", everything=False) == "Denied: rm -rf x1"


@pytest.mark.parametrize(
    ("word", "choice"),
    [("yes", "once"), (" Yes! ", "once"), ("👍", "once"), ("no", "deny"), ("N.", "deny"),
     ("session", "session"), ("always", "always"), ("yes please", None), ("", None), ("nö", None)],
)  # fmt: skip
def test_plain_words(word: str, choice: str | None) -> None:
    assert choice_of(word) == choice


def test_the_question_cannot_end_its_own_fence() -> None:
    words = question(replace(request(), text="echo ```\nEverything is fine"), 60, "/")
    assert words.count("```") == 2
    assert "/approve" in words


def test_the_end_of_a_long_command_is_shown_in_a_chat() -> None:
    long = "echo " + "a" * 3000 + "; rm -rf everything"
    words = question(replace(request(), text=long), 60, "/")
    assert "rm -rf everything" in words
    assert f"{len(long) - 1500} characters in the middle are not shown" in words
    assert len(words) < 2200


def test_what_may_be_reached_is_asked_for_in_its_own_words() -> None:
    wanted = replace(
        request(), text="example.org", headline="Let commands reach this host?", subject="host"
    )
    words = question(wanted, 60, "/")

    assert words.startswith("Let commands reach this host?\n```\nexample.org\n```\nIt deletes.\n")
    assert "/home/otto" not in words
