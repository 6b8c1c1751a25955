import contextlib
import inspect
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.state import AsyncSessionDB, SessionDB
from hermes_desktop.state.facade.store import Thread, thread_of


@pytest.mark.asyncio
async def test_methods_are_awaitable_and_values_pass_through(db: SessionDB, path: Path) -> None:
    store = AsyncSessionDB(db)
    assert store._db is db
    assert store.db_path == path
    assert store.condition.writable
    await store.create_session("a", source="cli")
    row_id = await store.append_message("a", "user", "hello")
    assert (await store.get_session("a"))["message_count"] == 1
    assert [m.id for m in await store.read_messages("a")] == [row_id]
    assert await store.sanitize_title(" x ") == "x"
    with pytest.raises(NotFoundError):
        await store.append_message("nobody", "user", "x")
    store.close_workers()


@pytest.mark.asyncio
async def test_reads_and_writes_run_on_their_own_threads(db: SessionDB) -> None:
    used: dict[str, str] = {}
    read, write = WorkerThreads("my-read"), WorkerThreads("my-write")
    store = AsyncSessionDB(db, read=read, write=write)
    await store.read(lambda _conn: used.update(read=threading.current_thread().name))
    await store._execute_write(lambda _conn: used.update(write=threading.current_thread().name))
    assert used == {"read": "my-read-1", "write": "my-write-1"}
    store.close_workers()
    assert await read.run(lambda: 1) == 1
    read.close()
    write.close()


@pytest.mark.asyncio
async def test_an_object_with_some_of_the_methods_will_do() -> None:
    class Double:
        def get_session(self, session_id: str) -> str:
            return f"row of {session_id}"

    store = AsyncSessionDB(Double())  # type: ignore[arg-type]
    assert await store.get_session("x") == "row of x"  # type: ignore[comparison-overlap]
    with pytest.raises(AttributeError):
        await store.message_count("x")
    store.close_workers()


def public_names(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_every_method_of_the_store_can_be_awaited() -> None:
    assert public_names(AsyncSessionDB) == public_names(SessionDB) - {"export_each"} | {
        "close_workers",
        "db_path",
    }
    for name in public_names(SessionDB) & public_names(AsyncSessionDB):
        plain, awaitable = getattr(SessionDB, name), getattr(AsyncSessionDB, name)
        if callable(plain):
            assert inspect.iscoroutinefunction(awaitable), name
        else:
            assert isinstance(awaitable, property), name


class AnyMethod:
    """Returns the name of the thread from every method."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *_args, **_kwargs: threading.current_thread().name


@pytest.mark.asyncio
async def test_methods_that_may_write_share_one_thread() -> None:
    read, write = WorkerThreads("my-read"), WorkerThreads("my-write")
    store = AsyncSessionDB(AnyMethod(), read=read, write=write)  # type: ignore[arg-type]
    names = public_names(SessionDB) & public_names(AsyncSessionDB) - {"sanitize_title"}
    methods = {name: getattr(SessionDB, name) for name in names}
    for name, method in methods.items():
        if callable(method):
            arguments = [None] if name == "read" else []
            writes = thread_of(method) is Thread.WRITE
            expected = "my-write-1" if writes else "my-read-1"
            assert await getattr(store, name)(*arguments) == expected, name
            assert writes or "_execute_write" not in inspect.getsource(method), name
    read.close()
    write.close()


MISTAKES = """
from hermes_desktop.state import AsyncSessionDB

async def use(store: AsyncSessionDB) -> None:
    row = await store.get_session("a")
    count: int = await store.message_count("a")
    await store.get_sesion("a")
    await store.get_session(3)
    await store.append_message("a", "user", "hello", token_cuont=3)
    await store.create_session("a", "cli", model=5)
    title: int = await store.get_session_title("a")
    store.get_session("a")["id"]

from hermes_desktop.state import SesionDB
"""


@pytest.mark.slow
def test_mypy_refuses_wrong_calls(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(MISTAKES)
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-pretty"),
            *("--config-file", root / "pyproject.toml", tmp_path / "calls.py"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    found = re.findall(r"calls\.py:(\d+): error: .* \[([a-z-]+)\]", done.stdout)
    assert found == [
        ("7", "attr-defined"),
        ("8", "arg-type"),
        ("9", "call-arg"),
        ("10", "arg-type"),
        ("11", "assignment"),
        ("12", "index"),
        ("14", "attr-defined"),
    ], done.stdout + done.stderr


def test_users_of_the_plain_store_load_no_asyncio(path: Path) -> None:
    code = (
        "import sys; from hermes_desktop.state import SessionDB; "
        f"SessionDB({str(path)!r}).list_summaries(); "
        "print([m for m in ('asyncio', 'httpx', 'keyring', 'PySide6', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.strip() == "[]"


def test_a_store_starts_no_thread(path: Path) -> None:
    before = threading.active_count()
    with contextlib.closing(SessionDB(path)) as store:
        store.create_session("a", "cli")
        store.list_summaries()
    assert threading.active_count() == before
