"""Beginnings of words: found as the index would, however many messages they stand in."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.schema import FileLayout, new_file_ddl, read_layout
from hermes_desktop.state.search import search_rows
from hermes_desktop.state.search.prefix_search import PrefixSearch, without
from hermes_desktop.state.search.search import Search, filters
from hermes_desktop.state.search.search_query import (
    Node,
    Term,
    match_expressions,
    parse,
    search_method,
)
from hermes_desktop.state.search.search_records import SearchHit, SearchQuery
from hermes_desktop.state.search.temporary_index import TemporaryIndex
from tests.fakes import state_files

T = TypeVar("T")


class Store:
    """A store in memory that is asked directly."""

    def __init__(self) -> None:
        self.conn = sqlite3.connect(":memory:", isolation_level=None)
        self.conn.row_factory = sqlite3.Row
        for statement in new_file_ddl():
            self.conn.execute(statement)
        for name in ("a", "b", "c"):
            state_files.add_session(self.conn, name)

    @property
    def layout(self) -> FileLayout:
        return read_layout(self.conn)

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        return fn(self.conn)

    def fill(self, texts: list[str]) -> None:
        self.conn.execute("DELETE FROM messages")
        for number, text in enumerate(texts):
            state_files.add_message(self.conn, "abc"[number % 3], content=text)

    def by_index(self, node: Node) -> list[int]:
        [(_, expression)] = match_expressions(node, "words")
        rows = self.conn.execute(
            "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC",
            (expression,),
        )
        return [row[0] for row in rows]

    def sifting(self, node: Node) -> PrefixSearch:
        return PrefixSearch(
            self.read,
            node,
            filters(SearchQuery("")),
            lambda _: False,
            way=search_method(node),
            stop=lambda: None,
        )


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    made = Store()
    yield made
    made.conn.close()


def found(store: Store | SessionDB, text: str, **choices) -> list[int]:
    hits: list[SearchHit] = []
    Search(store, SearchQuery(text, **choices)).run(hits.extend)
    return [hit.message_id for hit in hits]


WORDS = st.sampled_from(
    [
        *("kernel", "Kaka", "ka", "k", "Café", "cafe", "cafe\u0301", "ÉCLAIR", "éa", "e", "zq_z"),
        *("snake_case", "kebab-case", "k-k", "_k", "src/app.py", "x86", "8k", "отчёт", "Отец"),
        *(
            "مشروع",
            "旅行計画",
            "旅k",
            "k旅",
            "カタカナ",
            "한국어",
            "ß",
            "ss",
            "ﬁ",
            "İ",
            "ı",
            "ǆ",
            "\u0345",
        ),
        *("o'brien", "🙂k", "k🙂", "\x00k", "𐐷k", "\U0001e900k", "ａ", "²", "k²"),
    ]
)
TEXTS = st.lists(st.lists(WORDS | st.text(max_size=4), max_size=5).map(" ".join), max_size=30)
BEGINNINGS = (
    st.sampled_from(
        ["k", "ka", "c", "e", "é", "E", "z", "s", "o", "от", "_k", "k-", "8", "s_c", "x8"]
    )
    | WORDS
    | st.text(min_size=1, max_size=2)
).map(lambda text: f"{text}*")
PARTS = st.one_of(
    BEGINNINGS, BEGINNINGS, WORDS, st.lists(WORDS, min_size=2, max_size=3).map('"{}"*'.format)
)
QUERIES = st.lists(st.tuples(PARTS, st.sampled_from([" ", " AND ", " OR ", " NOT "])), min_size=1)


@given(TEXTS, QUERIES.map(lambda parts: "".join(part + by for part, by in parts[:4])))
def test_what_the_index_finds_in_the_same_order(store: Store, texts: list[str], query: str) -> None:
    node = parse(query)
    if node is None or search_method(node) != "words":
        return
    store.fill(texts)
    expected = store.by_index(node)
    assert found(store, query) == expected
    sifting = store.sifting(node)
    if sifting.gathered:
        sifted = [each for ids in sifting.run("newest") for each in ids]
        assert sifted == expected
        assert sifting.complete
        best = [each for ids in store.sifting(node).run("best") for each in ids]
        assert sorted(best, reverse=True) == expected
    sifting.close()


@pytest.mark.parametrize("query", ["m*", "m* OR k*", "k* NOT zebra", "m* k*"])
def test_a_frequent_beginning_is_not_asked_of_the_index(store: Store, query: str) -> None:
    store.fill([f"moon kite {number}" for number in range(100)])
    node = parse(query)
    assert node is not None
    sifting = store.sifting(node)
    assert sifting.gathered >= 100
    assert [each for ids in sifting.run("newest") for each in ids] == store.by_index(node)
    assert sifting.complete
    sifting.close()


@pytest.mark.parametrize("query", ["zq*", "moon", '"moon kite"'])
def test_the_index_is_asked_for_what_is_rare(store: Store, query: str) -> None:
    store.fill([*(f"moon kite {number}" for number in range(100)), "zqa"])
    node = parse(query)
    assert node is not None
    sifting = store.sifting(node)
    assert not sifting.gathered
    sifting.close()


@pytest.mark.parametrize("order", ["newest", "best"])
def test_the_index_is_asked_where_looking_finds_too_little(store: Store, order: str) -> None:
    """Every message has either beginning, the oldest alone has both."""
    long = " ".join(["moon", *(f"filler{number}" for number in range(300))])
    store.fill(
        [
            "moon kite",
            *(long for _ in range(150)),
            *(long.replace("moon", "kite") for _ in "x" * 150),
        ]
    )
    node = parse("m* k*")
    assert node is not None
    sifting = store.sifting(node)
    assert list(sifting.run("newest")) == []
    assert not sifting.complete
    sifting.close()
    assert len(found(store, "m* k*", order=order)) == 1


@pytest.mark.parametrize("query", ["m* k*", "m* NOT k*", '"end moon"* k*', "kit k*", "é* k*"])
def test_long_messages(store: Store, query: str) -> None:
    """What stands at the end counts, a word is not cut, a character neither."""
    filler = "kites " * 150 + "é" * 700 + " " + "é " * 900
    store.fill([f"moon {filler} end", f"{filler} end moons", f"{filler} end moon", "end moon kite"])
    node = parse(query)
    assert node is not None
    expected = store.by_index(node)
    sifting = store.sifting(node)
    assert (
        [each for ids in sifting.run("newest") for each in ids] == expected == found(store, query)
    )
    sifting.close()


def test_one_hit_a_conversation_and_filters(store: Store) -> None:
    store.fill([f"moon {number}" for number in range(300)])
    newest = store.by_index(Term("moon"))
    assert found(store, "m*", one_per_conversation=True) == newest[:3]
    assert found(store, "m*", session_ids=["a"], limit=2) == newest[2:6:3]
    assert found(store, "m*", sources=["nowhere"]) == []


@pytest.mark.parametrize("sort", [None, "newest", "oldest"])
def test_rows_for_programs_do_not_wait_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, sort: str | None
) -> None:
    db = SessionDB(path)
    db.create_session("a", "cli")
    for number in range(60):
        db.append_message("a", "user", f"moon {number}", timestamp=1_000.0 - number)
    for number in range(3):
        db.append_message("a", "user", f"walrus {number}")

    def pages(query: str) -> list[list[int]]:
        return [
            [row["id"] for row in db.search_messages(query, sort=sort, limit=7, offset=offset)]
            for offset in (0, 7)
        ]

    by_index = {query: pages(query) for query in ("m*", "m* w*", "m* NOT walrus", "w*", "m* 5*")}
    monkeypatch.setattr(search_rows, "MOST_GATHERED", 0)
    for query, expected in by_index.items():
        there = pages(query)
        assert [len(page) for page in there] == [len(page) for page in expected]
        if sort == "oldest":
            assert there == expected
    assert pages("w*") == by_index["w*"]
    times = [row["timestamp"] for row in db.search_messages("m*", sort="newest", limit=7)]
    assert times == sorted(times, reverse=True)
    db.close()


def test_the_rest_of_a_query() -> None:
    def rest(text: str, *left_out: str) -> Node | None:
        node = parse(text)
        assert node is not None
        dropped = [term for term in map(parse, left_out) if isinstance(term, Term)]
        return without(node, dropped)

    assert rest("m*", "m*") is None
    assert rest("kernel m*", "m*") == Term("kernel")
    assert rest("kernel OR m*", "m*") is None
    assert rest("kernel NOT m*", "m*") == Term("kernel")
    assert rest("m* NOT kernel", "m*") is None
    assert rest('"plan the tr"*', '"plan the tr"*') == Term("plan the")
    assert rest('"plan the ->"*', '"plan the ->"*') is None
    assert rest("\U0001e900 m*", "m*") is None


@pytest.mark.parametrize(
    "arguments",
    [
        "content",
        "content, tokenize='porter unicode61 remove_diacritics 0'",
        'content, tool_name UNINDEXED, "tool calls", tokenize = "unicode61 tokenchars \'_\'"',
        "content, prefix='1 2', columnsize=0",
    ],
)
def test_a_sieve_is_like_the_stored_index(arguments: str) -> None:
    conn = sqlite3.connect(":memory:")
    conn.execute(f"CREATE VIRTUAL TABLE f USING fts5({arguments})")
    width = len(conn.execute("PRAGMA table_info(f)").fetchall())
    for number, text in enumerate(("Running cafés snake_case", "run cafe", "snake", "\udcff k"), 1):
        row = (number, *([text.encode("utf-8", "surrogateescape")] * width))
        conn.execute(f"INSERT INTO f VALUES ({', '.join('?' * width)})", row[1:])
    sieve = TemporaryIndex(conn, "f")
    rows = [row for number in range(1, 6) if (row := sieve.read(conn, number))]
    assert len(rows) == 4
    assert sieve.read_from(conn, 2) == rows[1]
    for term in ("runs", "run*", "cafe", "café*", "snake*", "_c*", "k*", "snake_case"):
        expression = f'"{term.rstrip("*")}"{"*" if "*" in term else ""}'
        ids = conn.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rowid DESC", (expression,))
        with sieve.holding(rows):
            assert sieve.find(expression) == [row[0] for row in ids]
    sieve.close()
    conn.close()


@pytest.mark.parametrize("query", ["p*", "g*", "p* g*"])
def test_newer_layout(path: Path, query: str) -> None:
    path.parent.mkdir()
    conn = state_files.make_newer_file(path)
    state_files.add_session(conn, "s")
    state_files.add_message(conn, "s", content="please", tool_name="grep_tool")
    conn.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
    conn.close()
    db = SessionDB(path)
    assert len(found(db, query)) == 1
    assert found(db, "z*") == []
    db.close()


@pytest.mark.parametrize("order", ["newest", "best"])
def test_damaged_index(path: Path, order: str) -> None:
    db = SessionDB(path)
    db.create_session("a", "cli")
    for number in range(20):
        db.append_message("a", "user", f"moon {number}")
    db.close()
    conn = sqlite3.connect(path)
    conn.execute("UPDATE messages_fts_data SET block = x'ffffffffff' WHERE id = 10")
    conn.execute("DROP TABLE messages_fts_content")
    conn.commit()
    conn.close()
    db = SessionDB(path)
    assert len(found(db, "m*", order=order)) == 20
    db.close()
