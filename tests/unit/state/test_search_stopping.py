"""Ending a search: the wish reaches into SQLite, at any moment, and nobody else."""

import sqlite3
import threading
from collections.abc import Iterator

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.cancellation import StoppedError
from hermes_desktop.state.search.search_cancellation import SearchCancelSignal, ended_by
from hermes_desktop.state.search.search_records import SearchQuery

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    yield made
    made.close()


def answers(conn: sqlite3.Connection) -> bool:
    return conn.execute("SELECT 7").fetchone() == (7,) and not conn.in_transaction


def test_a_running_statement_ends(conn: sqlite3.Connection) -> None:
    wish, runs = SearchCancelSignal(), threading.Event()
    conn.create_function("runs", 0, runs.set)

    def later() -> None:
        runs.wait()
        wish.set()

    thread = threading.Thread(target=later)
    thread.start()
    with pytest.raises(StoppedError):
        ended_by(conn, lambda c: c.execute(f"SELECT runs(), ({ENDLESS})").fetchall(), wish)
    thread.join()
    assert wish.is_set()
    assert answers(conn)


def test_a_wish_between_two_statements_is_not_lost(conn: sqlite3.Connection) -> None:
    wish = SearchCancelSignal()

    def two(c: sqlite3.Connection) -> None:
        c.execute("SELECT 1").fetchall()
        wish.set()
        c.execute(ENDLESS).fetchall()

    with pytest.raises(StoppedError):
        ended_by(conn, two, wish)
    assert answers(conn)


def test_a_wish_before_and_a_wish_after(conn: sqlite3.Connection) -> None:
    wish = SearchCancelSignal()
    assert ended_by(conn, answers, wish)
    wish.set()
    assert answers(conn)
    with pytest.raises(StoppedError):
        ended_by(conn, answers, wish)
    wish.set()
    assert answers(conn)


def test_other_trouble_is_told_as_it_is(conn: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        ended_by(conn, lambda c: c.execute("SELECT * FROM missing"), SearchCancelSignal())
    assert answers(conn)


def test_any_other_signal_and_none(conn: sqlite3.Connection) -> None:
    class Soon:
        """Says stop the third time SQLite asks."""

        asked = 0

        def is_set(self) -> bool:
            self.asked += 1
            return self.asked > 3

    with pytest.raises(StoppedError):
        ended_by(conn, lambda c: c.execute(ENDLESS).fetchall(), Soon())
    assert ended_by(conn, answers, None)


def test_the_index_is_stopped_while_it_gathers(db: SessionDB) -> None:
    """What it reads is cut short, which must not be taken for damage."""
    db.create_session("a", "cli")
    words = " ".join(f"m{number:x}" for number in range(3_000))
    db.replace_messages("a", [{"role": "user", "content": words} for _ in range(40)])
    wish = SearchCancelSignal()

    def gather(conn: sqlite3.Connection) -> None:
        sql = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH '\"m\"*'"
        conn.execute("SELECT 1").fetchall()
        wish.set()
        conn.execute(sql).fetchall()

    with pytest.raises(StoppedError):
        db.read(lambda conn: ended_by(conn, gather, wish))
    outcome = db.search(SearchQuery("m*"), on_hits=lambda _: None, cancel=wish)
    assert outcome.cancelled
    wish = SearchCancelSignal()
    outcome = db.search(SearchQuery("m*"), on_hits=lambda _: wish.set(), cancel=wish)
    assert (outcome.cancelled, outcome.notice) == (True, None)
    assert db.search(SearchQuery("m*"), on_hits=lambda _: None).hits == 40
