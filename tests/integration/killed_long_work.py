"""Long sessions on their way while the process is killed. Run as a program.

    python killed_long_work.py FOLDER ROUNDS SEED [MESSAGES]

Each round forks a child that moves a long session to the trash, restores, copies or deletes one for
good, and is killed with SIGKILL: before, in or after a transaction chosen at random, or after a
random time. Then no list may show half a session; and once it is settled the long session must be
whole, in the file or in the trash, with nothing left on its way. Prints ``N rounds, M kills``.
"""

import contextlib
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.database.holders import Holders
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.sessions import transit_rows
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import list_trash, trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash, settle_trash

Rows = list[tuple[object, ...]]


class Doomed(SessionDB):
    """Kills its process in one of its writes.

    Attributes:
        nth: In which.
        phase: Before it, inside it, or when it is committed.
    """

    nth = -1
    phase = ""

    def _execute_write(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        self.nth -= 1
        if self.nth or self.phase == "before":
            self._die_if("before")
            return super()._execute_write(fn)

        def last(conn: sqlite3.Connection) -> Any:
            result = fn(conn)
            self._die_if("inside")
            return result

        result = super()._execute_write(last)
        self._die_if("after")
        return result

    def _die_if(self, phase: str) -> None:
        if self.nth == 0 and self.phase == phase:
            os.kill(os.getpid(), signal.SIGKILL)


def fill(db: SessionDB, name: str, messages: int) -> None:
    db.create_session(name, "cli", cwd="/x")
    words = [{"role": "user", "content": f"{name} says {n}"} for n in range(messages)]
    db.replace_messages(name, words)
    db.set_session_title(name, f"Talk of {name}")


def work(folder: Path, rng: random.Random) -> None:
    db, own = Doomed(folder / "state.db"), DesktopDatabase(folder / "desktop" / "desktop.db")
    if rng.random() < 0.2:
        threading.Timer(rng.random() * 0.4, os.kill, (os.getpid(), signal.SIGKILL)).start()
    else:
        db.nth, db.phase = rng.randint(1, 9), rng.choice(("before", "inside", "after"))
    kind = rng.choice(("trash", "copy"))
    items = list_trash(own)
    if items:
        restore_from_trash(db, own, [items[0].trash_id])
    elif kind == "trash":
        trash_sessions(db, own, ["long"], deleted_at=time.time(), reason="test")
    elif db.get_session("copy"):
        db.delete_sessions(["copy"])
    else:
        db.create_branch(Branch("long", "copy"))


def one_round(folder: Path, rng: random.Random) -> bool:
    """Whether the child was killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(folder, rng)
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return os.WIFSIGNALED(status)


def rows(db: SessionDB, session_id: str) -> Rows:
    return db.read(
        lambda conn: [
            tuple(row)
            for table, key in (("sessions", "id"), ("messages", "session_id"))
            for row in conn.execute(
                f"SELECT rowid, * FROM {table} WHERE {key} = ? ORDER BY rowid", (session_id,)
            )
        ]
    )


def check(folder: Path, before: Rows, messages: int, *, thoroughly: bool) -> None:
    with (
        contextlib.closing(SessionDB(folder / "state.db")) as db,
        contextlib.closing(DesktopDatabase(folder / "desktop" / "desktop.db")) as own,
    ):
        for line in db.list_summaries(limit=None, include_archived=True):
            count = len(db.get_messages(line.id, include_inactive=True))
            assert count == {"bystander": 1}.get(line.id, messages), (line.id, count)
        settle_trash(db, own)
        assert settle_trash(db, own) == 0
        left = db.read(lambda conn: list(transit_rows.on_their_way(conn)))
        assert left == [], f"still on the way: {left}"
        copy = rows(db, "copy")
        assert len(copy) in {0, messages + 1}, f"{len(copy)} rows of the copy"
        items = list_trash(own)
        now = rows(db, "long")
        assert (now == before) != bool(items), f"{len(now)} rows, {len(items)} in the trash"
        if items:
            assert (now, items[0].message_count) == ([], messages)
        assert db.message_count("bystander") == 1
        broken = db.read(lambda conn: conn.execute("PRAGMA foreign_key_check").fetchall())
        assert broken == []
    if thoroughly:
        report = health_report(folder / "state.db", check="full", holders=lambda _: Holders(()))
        assert report.integrity == (), report.integrity
        assert all(index.is_complete for index in report.indexes), report.indexes


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    messages = int(sys.argv[4]) if len(sys.argv) > 4 else 1_500
    with contextlib.closing(SessionDB(folder / "state.db")) as db:
        fill(db, "bystander", 1)
        fill(db, "long", messages)
        before = rows(db, "long")
    kills = 0
    for number in range(rounds):
        kills += one_round(folder, random.Random(seed * 1_000_003 + number))
        check(folder, before, messages, thoroughly=number % 20 == 0 or number == rounds - 1)
    print(f"{rounds} rounds, {kills} kills")


if __name__ == "__main__":
    main()
