"""What a typed text means, and that no text is an error."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.state.search.search_query import (
    Combined,
    Term,
    match_expressions,
    parse,
    row_condition,
    search_method,
    terms,
    wanted,
)


def matched(text: str) -> str:
    node = parse(text)
    assert node is not None
    return match_expressions(node, search_method(node))[0][1]


@pytest.mark.parametrize("text", ["", "   ", "AND", "OR NOT", "()", '"', '""', "*", "+ { } :"])
def test_nothing_to_look_for(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("hello", '"hello"'),
        ("ls -la", '(("ls") AND ("-la"))'),
        ("o'brien", '"o\'brien"'),
        ("src/app.py", '"src/app.py"'),
        ("foo*", '"foo"*'),
        ("foo***", '"foo"*'),
        ("*foo", '"foo"'),
        ('"two words"', '"two words"'),
        ('"two words"*', '"two words"*'),
        ('say "unfinished', '(("say") AND ("unfinished"))'),
        ("a OR b", '(("a") OR ("b"))'),
        ("AND a NOT", '"a"'),
        ("a AND OR b", '(("a") OR ("b"))'),
        ("a AND NOT b", '(("a") NOT ("b"))'),
        ("a or b", '(((("a") AND ("or"))) AND ("b"))'),
        ("col:umn (x)", '(((("col") AND ("umn"))) AND ("x"))'),
    ],
)
def test_expression(text: str, expression: str) -> None:
    assert matched(text).count('"') == expression.count('"')
    assert [t.text for t in terms(parse(text))] == [
        part for number, part in enumerate(expression.split('"')) if number % 2
    ]
    for operator in (" OR ", " NOT "):
        assert (operator in matched(text)) == (operator in expression)
    assert ("*" in matched(text)) == ("*" in expression)


def test_weak_operators_part_first() -> None:
    assert parse("a b OR c NOT d") == Combined(
        "OR",
        (
            Combined("AND", (Term("a"), Term("b"))),
            Combined("NOT", (Term("c"), Term("d"))),
        ),
    )


def test_what_must_not_be_found_is_not_shown() -> None:
    assert wanted(parse("a NOT b")) == [Term("a")]


def test_bare_words_as_beginnings() -> None:
    assert terms(parse("f", prefix=True)) == [Term("f")]
    assert terms(parse("f*", prefix=True)) == [Term("f", prefix=True)]
    assert terms(parse('foo "bar baz"', prefix=True)) == [Term("foo", prefix=True), Term("bar baz")]


def test_long_queries_are_cut() -> None:
    assert len(terms(parse("ab " * 2_000))) == 60


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("hello", "words"),
        ("旅行計画", "trigram"),
        ("旅行計画 kernel", "trigram"),
        ("旅行", "scan"),
        ("旅行 kernel", "scan"),
        ("旅行計画 ai", "scan"),
        ("한국어", "trigram"),
        ("->", "scan"),
        ("🙂", "scan"),
        ("hello 🙂", "words"),
    ],
)
def test_way(text: str, way: str) -> None:
    node = parse(text)
    assert node is not None
    assert search_method(node) == way


@pytest.fixture(scope="module")
def conn() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute("CREATE VIRTUAL TABLE words USING fts5(content)")
    made.execute("CREATE VIRTUAL TABLE trigram USING fts5(content, tokenize='trigram')")
    made.execute("CREATE TABLE messages (content TEXT, tool_name TEXT, tool_calls TEXT)")
    yield made
    made.close()


PIECES = st.sampled_from(
    [
        *("AND", "OR", "NOT", "NEAR", "NEAR(", '"', "*", "-", "'", "/", "(", ")", ":", "^", "+"),
        *(
            "旅",
            "旅行計画",
            "foo",
            "é",
            "\x00",
            "\ud800",
            "->",
            "🙂",
            " ",
            "_",
            ".",
            "\\",
            "%",
            "{",
        ),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map(" ".join), st.lists(PIECES).map("".join)))
def test_no_text_is_an_error(conn: sqlite3.Connection, text: str) -> None:
    node = parse(text)
    if node is None:
        return
    way = search_method(node)
    for index, expression in () if way == "scan" else match_expressions(node, way):
        conn.execute(f"SELECT 1 FROM {index} WHERE {index} MATCH ?", (expression,)).fetchall()
    condition, values = row_condition(node)
    conn.execute(f"SELECT 1 FROM messages AS m WHERE {condition}", values).fetchall()
