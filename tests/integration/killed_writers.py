"""Writers that are killed at any moment, and what must be true afterwards. Run as a program.

    python killed_writers.py FOLDER ROUNDS SEED

Each round forks a child that works on FOLDER/state.db and its trash and reports each message once
it is committed; it is killed with SIGKILL after a random time. Then every reported message must be
in the store or in the trash, exactly once; counters, links and the index must be in order. Prints
``N rounds, M messages`` at the end.
"""

import contextlib
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.holders import Holders
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import list_trash, trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash, settle_trash

SESSIONS = tuple(f"s{number}" for number in range(6))
FULL_CHECK_EVERY = 10


def work(folder: Path, rng: random.Random, report: int) -> None:
    """Change things until killed."""
    db, own = SessionDB(folder / "state.db"), DesktopDatabase(folder / "desktop" / "desktop.db")
    settle_trash(db, own)
    while True:
        session_id = rng.choice(SESSIONS)
        kind = rng.choices(
            ("append", "rewind", "compact", "title", "end", "trash", "restore"),
            (12, 1, 1, 1, 1, 2, 3),
        )[0]
        if kind == "restore":
            items = list_trash(own)
            if items:
                restore_from_trash(db, own, [rng.choice(items).trash_id])
        elif kind == "trash":
            trash_sessions(db, own, [session_id], deleted_at=time.time(), reason="test")
        elif db.get_session(session_id) is None:
            parent = rng.choice(SESSIONS)
            known = db.get_session(parent) is not None
            db.create_session(session_id, "cli", parent_session_id=parent if known else None)
        elif kind == "append":
            text = f"text-{rng.getrandbits(64):016x}"
            calls = [{"id": "1"}] if rng.random() < 0.3 else None
            db.append_message(session_id, "user", text, tool_calls=calls)
            os.write(report, text.encode() + b"\n")
        else:
            change(db, kind, session_id, rng)


def change(db: SessionDB, kind: str, session_id: str, rng: random.Random) -> None:
    if kind == "rewind":
        rows = db.get_messages(session_id)
        if rows:
            db.rewind_to_message(session_id, rng.choice(rows)["id"])
    elif kind == "compact":
        db.archive_and_compact(session_id, [])
    elif kind == "title":
        db.set_session_title(session_id, db.get_next_title_in_lineage("Trip"))
    elif kind == "end":
        db.end_session(session_id, "cli_close")


def one_round(folder: Path, rng: random.Random) -> list[str]:
    """Let a child work for a moment and kill it; the texts it said were stored."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(folder, rng, writing)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(rng.random() * 0.08)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the writer failed by itself"
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode().split()


def check(folder: Path, told: list[str], *, thoroughly: bool) -> None:
    """What must be true after a crash, once what was begun is settled."""
    with (
        contextlib.closing(SessionDB(folder / "state.db")) as db,
        contextlib.closing(DesktopDatabase(folder / "desktop" / "desktop.db")) as own,
    ):
        settle_trash(db, own)
        kept = own.read(
            lambda out: [
                row[0]
                for row in out.execute(
                    "SELECT json_extract(content, '$.content') FROM trash_rows "
                    "WHERE kind = 'messages'"
                )
            ],
            default=[],
        )
        stored = db.read(lambda c: [row[0] for row in c.execute("SELECT content FROM messages")])
        places = Counter(kept) + Counter(stored)
        doubled = [text for text, count in places.items() if count > 1]
        assert not doubled, f"twice: {doubled}"
        lost = [text for text in told if text not in places]
        assert not lost, f"lost: {lost}"
        wrong = db.read(lambda c: c.execute(WRONG_COUNTERS).fetchall())
        assert not wrong, f"counters: {[tuple(row) for row in wrong]}"
    if thoroughly:
        report = health_report(folder / "state.db", check="full", holders=lambda _: Holders(()))
        assert report.integrity == (), report.integrity
        assert all(index.is_complete for index in report.indexes), report.indexes
        assert not report.broken_links, report.broken_links


WRONG_COUNTERS = """
SELECT s.id, s.message_count, s.tool_call_count, count(m.id), count(m.tool_calls)
FROM sessions AS s LEFT JOIN messages AS m ON m.session_id = s.id AND m.compacted = 0
GROUP BY s.id
HAVING s.message_count > count(m.id) OR s.tool_call_count > count(m.tool_calls)
  OR (s.rewind_count = 0 AND (s.message_count <> count(m.id)
                              OR s.tool_call_count <> count(m.tool_calls)))
"""
"""After a compaction counters begin anew; rows taken back before it stay and are not counted."""


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    SessionDB(folder / "state.db").close()
    told: list[str] = []
    for number in range(rounds):
        rng = random.Random(seed * 1_000_003 + number)
        told += one_round(folder, rng)
        check(folder, told, thoroughly=number % FULL_CHECK_EVERY == 0 or number == rounds - 1)
    print(f"{rounds} rounds, {len(told)} messages")


if __name__ == "__main__":
    main()
