"""Programs run within bounds, calls within bounds, and an environment without secrets."""

import os
import sys
import threading
import time
from contextvars import ContextVar
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.time_bound import PendingCall, call_within
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.processes.child_process import Ended, run_bounded
from hermes_desktop.core.processes.clean_environment import is_secret_name, without_secrets

ENVIRON = {"PATH": os.environ["PATH"]}


def run(code: str, *, given: bytes = b"", timeout_s: float = 20.0, most: int = 1000) -> Ended:
    return run_bounded(
        [sys.executable, "-c", code],
        environ=ENVIRON,
        cwd=Path("/"),
        timeout_s=timeout_s,
        most_bytes=most,
        given=given,
    )


def test_what_a_program_says_and_how_it_ends() -> None:
    ended = run(
        "import sys; sys.stderr.write('e'); print(sys.stdin.read()); sys.exit(3)", given=b"x"
    )
    assert ended == Ended(3, b"x\n", b"e")


def test_much_is_given_to_one_that_reads_late_and_to_one_that_does_not_read() -> None:
    much = b"x" * 3_000_000
    assert run("import sys; print(len(sys.stdin.buffer.read()))", given=much).out == b"3000000\n"
    assert run("import sys; sys.stdin.close(); print('done')", given=much).out == b"done\n"


def test_more_than_is_kept_is_cut_and_a_flood_is_ended() -> None:
    ended = run("print('y' * 5000)", most=1000)
    assert (len(ended.out), ended.cut, ended.code) == (1000, True, 0)
    ended = run("while True: print('y' * 5000)", most=1000)
    assert (ended.cut, ended.timed_out, ended.code) == (True, False, -9)


def test_the_end_of_much_is_kept_where_that_is_wanted() -> None:
    ended = run_bounded(
        "seq 1 5000",
        environ=ENVIRON,
        cwd=Path("/"),
        timeout_s=20,
        most_bytes=1000,
        end_bytes=400,
    )
    first, mark, last = ended.out.decode().partition("\n… 22893 bytes are left out …\n")
    assert (len(first), bool(mark), len(last), ended.cut) == (600, True, 400, True)
    assert first.startswith("1\n2\n")
    assert last.endswith("4999\n5000\n")


def test_one_that_closes_its_output_and_goes_on_is_ended_in_time() -> None:
    code = "import os, time\nos.close(1); os.close(2)\ntime.sleep(300)"
    ended = run(code, timeout_s=0.5)
    assert (ended.timed_out, ended.code) == (True, -9)


def test_one_that_leaves_something_running_is_not_waited_for() -> None:
    began = time.monotonic()
    ended = run_bounded(
        "sleep 300 & echo done", environ=ENVIRON, cwd=Path("/"), timeout_s=60, most_bytes=100
    )
    assert (ended.out, ended.timed_out) == (b"done\n", False)
    assert time.monotonic() - began < 30


def test_one_that_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError):
        run_bounded(["/no/such"], environ=ENVIRON, cwd=Path("/"), timeout_s=1, most_bytes=1)


def test_giving_up_ends_it() -> None:
    ended = run_bounded(
        "sleep 300",
        environ=ENVIRON,
        cwd=Path("/"),
        timeout_s=60,
        most_bytes=100,
        given_up=lambda: True,
    )
    assert ended.timed_out


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY",
        "telegram_bot_token", "GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN", "GH_PAT", "MYAPIKEY",
        "SSH_PRIVATE_KEY", "X_COOKIE", "AUTHORIZATION", "MYSQL_PWD", "REGISTRY_AUTH",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "SSH_AUTH_SOCK",
        "XDG_SESSION_ID",
        "KEYBOARD",
        "PWD",
        "COMPASS",
        "LANG",
        "OLDPWD",
        "XAUTHORITY",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_an_environment_without_secrets() -> None:
    redactor = SecretRedactor()
    redactor.learn("hunter2hunter2")
    environ = {"A": "1", "B_TOKEN": "x", "C": "say hunter2hunter2", "D": "https://u:pw1234@h/"}
    environ["E"] = "sk_live_" + "a" * 20
    assert without_secrets(environ, redactor.clean) == {"A": "1"}


def test_a_call_is_awaited_so_long_and_keeps_its_context() -> None:
    word = ContextVar("word", default="none")
    word.set("mine")
    assert call_within(10, word.get, name="t") == "mine"
    with pytest.raises(SystemExit):
        call_within(10, lambda: sys.exit(2), name="t")
    release = threading.Event()
    pending = PendingCall(lambda: release.wait(60), "t")
    with pytest.raises(TimeoutError):
        pending.result(0.01)
    with pytest.raises(TimeoutError):
        pending.result(20, lambda: True)
    release.set()
    assert pending.result(10)
