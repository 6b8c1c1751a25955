import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.state import AsyncSessionDB, SessionDB


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
    with pytest.raises(AttributeError):
        store.no_such_thing  # noqa: B018
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
async def test_any_object_will_do() -> None:
    class Double:
        answer = 42

        def get_session(self, session_id: str) -> str:
            return f"row of {session_id}"

    store = AsyncSessionDB(Double())  # type: ignore[arg-type]
    assert await store.get_session("x") == "row of x"
    assert store.answer == 42
    store.close_workers()


def test_every_method_that_writes_is_known_as_such() -> None:
    from hermes_desktop.state.async_session_db import WRITES
    from hermes_desktop.state.store_face import WritingFace

    writing = [face for face in SessionDB.__mro__ if issubclass(face, WritingFace)]
    reading = [face for face in SessionDB.__mro__ if face not in {*writing, object}]
    assert {"append_message", "create_session", "set_session_title", "_execute_write"} <= WRITES
    assert set(dir(SessionDB)) >= WRITES
    for face in reading:
        assert not WRITES & vars(face).keys(), face


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
