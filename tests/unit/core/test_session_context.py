"""Which session the code runs for, without writing the process environment."""

import asyncio
import contextvars
import os
from collections.abc import Iterator

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.session_context import (
    NAMES,
    clear_session_vars,
    get_session_env,
    reset_session_vars,
    set_current_session_id,
    set_session_vars,
)

ID = "HERMES_SESSION_ID"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    reset_session_vars()
    yield
    reset_session_vars()


def test_context_then_environment_then_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_session_env(ID) == ""
    assert get_session_env(ID, "fallback") == "fallback"
    monkeypatch.setenv(ID, "of the environment")
    assert get_session_env(ID, "fallback") == "of the environment"
    set_session_vars(HERMES_SESSION_ID="of the context")
    assert get_session_env(ID, "fallback") == "of the context"


def test_an_empty_value_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ID, "of the environment")
    set_session_vars(HERMES_SESSION_ID="")

    assert get_session_env(ID, "fallback") == ""


def test_clearing_hides_the_environment_resetting_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ID, "of the environment")
    tokens = set_session_vars(HERMES_SESSION_ID="of the context")

    clear_session_vars(tokens)
    assert get_session_env(ID) == ""
    reset_session_vars()
    assert get_session_env(ID) == "of the environment"


def test_the_process_environment_is_never_written() -> None:
    before = dict(os.environ)
    set_session_vars(**dict.fromkeys(NAMES, "x"))
    set_current_session_id("y")

    assert dict(os.environ) == before


def test_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_SOMETHING_ELSE", "1")

    assert get_session_env("HERMES_SOMETHING_ELSE") == "1"
    with pytest.raises(KeyError):
        set_session_vars(HERMES_SOMETHING_ELSE="2")


@pytest.mark.asyncio
async def test_turns_side_by_side_do_not_mix() -> None:
    workers = WorkerThreads("t-turns", size=2)

    async def turn(name: str) -> str:
        set_current_session_id(name)
        await asyncio.sleep(0)
        return await workers.run(get_session_env, ID)

    assert await asyncio.gather(turn("a"), turn("b")) == ["a", "b"]
    assert get_session_env(ID) == ""
    workers.close()


def test_a_new_task_can_forget_its_spawner() -> None:
    set_current_session_id("of the spawner")

    def child() -> tuple[str, str]:
        inherited = get_session_env(ID)
        reset_session_vars()
        return inherited, get_session_env(ID)

    assert contextvars.copy_context().run(child) == ("of the spawner", "")
    assert get_session_env(ID) == "of the spawner"
