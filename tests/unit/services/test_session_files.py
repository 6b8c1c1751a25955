"""What leaves the home: secrets, documents; what comes in: files of several shapes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.services.transfer.session_export import document, file_name
from hermes_desktop.services.transfer.session_import import ImportRefusedError, parse, plan_import
from hermes_desktop.services.transfer.session_redaction import SessionRedactor
from hermes_desktop.settings.secret_masking import literal_secrets


@pytest.mark.parametrize(
    "text",
    [
        "sk-abcdEFGH12345678",
        "AKIAABCDEFGHIJKLMNOP",
        "AIza" + "x" * 35,
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
        'export MY_API_KEY="abcdef-1234"',
        '{"command": "x", "password": "hunter2hunter"}',
        "token: abcdef123456",
        "from-the-env",
    ],
)
def test_a_secret_does_not_leave(text: str) -> None:
    redactor = SessionRedactor({"SOME_TOKEN": "from-the-env", "CITY": "Lisbon"})

    cleaned = redactor.clean({"content": f"before {text} after in Lisbon", "parts": [text]})

    assert cleaned["content"].startswith("before ")
    assert cleaned["content"].endswith("after in Lisbon")
    for left in (cleaned["content"], *cleaned["parts"]):
        assert "[secret]" in left
        assert text not in left


def test_what_names_a_session_stays() -> None:
    session = {
        "id": "token: abcdef123456",
        "parent_session_id": "token: abcdef123456",
        "input_tokens": 5,
        "ended_at": None,
        "api_key": "x",
        "messages": [{"role": "user", "content": "plain words about a token and a secret"}],
    }

    cleaned = SessionRedactor({}).clean(session)

    assert cleaned == {**session, "api_key": "[secret]"}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        (None, "s1.md"),
        ("", "s1.md"),
        ("The Fern's way", "s1-the-fern-s-way.md"),
        ("Déjà vu / ../..", "s1-deja-vu.md"),
        ("旅行", "s1.md"),
        ("x" * 300, f"s1-{'x' * 60}.md"),
    ],
)
def test_names_of_documents(title: str | None, name: str) -> None:
    assert file_name("s1", title) == name


@pytest.mark.parametrize("session_id", ["L" * 3_000, "con", "NUL.x", ".hidden", "a:b", "旅", "-f"])
def test_any_id_gives_a_file_name_of_its_own(session_id: str, tmp_path: Path) -> None:
    name = file_name(session_id, "x" * 300)
    (tmp_path / name).write_text("it can be written")

    assert len(name) < 200
    assert name[0] == "_"
    assert name != file_name(session_id + "b", "x" * 300)
    assert file_name("a:b", None) != file_name("a_b", None) == "a_b.md"


def test_an_id_that_is_too_long_is_named_for_each_session() -> None:
    long = [{"id": letter * 3_000, "source": "cli", "messages": []} for letter in "LM"]
    with pytest.raises(ImportRefusedError) as caught:
        plan_import(None, [long[0], {"id": "fine", "source": "cli"}, long[1]])

    lines = caught.value.detail.split("\n")
    why = "its id has 3,000 characters, and at most 200 are accepted."
    assert lines == [f"Session 1 ({'L' * 60}…): {why}", f"Session 3 ({'M' * 60}…): {why}"]
    assert plan_import(None, [{"id": "L" * 200, "source": "cli"}]).sessions


@given(st.text(), st.text())
def test_a_name_is_never_a_path(session_id: str, title: str) -> None:
    name = file_name(session_id, title)

    assert "/" not in name
    assert "\\" not in name
    assert name.isascii()
    assert name.endswith(".md")


def test_a_document_of_odd_rows() -> None:
    text = document(
        {
            "id": "s1",
            "title": 'Two\nlines: "quoted"',
            "started_at": 1e40,
            "messages": [
                {"role": "session_meta", "content": "hidden"},
                {"role": "user", "content": None, "timestamp": "never"},
                {"role": "critic", "content": {"odd": 1}, "timestamp": 0},
                {"role": "assistant", "tool_calls": [{"function": {"arguments": {"a": 1}}}, "odd"]},
            ],
        }
    )

    assert 'title: "Two\\nlines: \\"quoted\\""' in text
    assert "# Two lines" in text
    assert "hidden" not in text
    assert "## You · ?" in text
    assert "## critic · 1970-01-01T00:00:00Z" in text
    assert '**tool**\n\n```\n{"a": 1}\n```' in text


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "a"}\n{"id": "b"}\n',
        '\ufeff{"id": "a"}\r\n\r\n{"id": "b"}',
        '[{"id": "a"},\n {"id": "b"}]',
    ],
)
def test_shapes_of_a_file(text: str) -> None:
    assert parse(text) == [{"id": "a"}, {"id": "b"}]


def test_one_object_over_several_lines() -> None:
    assert parse(json.dumps({"id": "a", "t": "\u2028"}, indent=2, ensure_ascii=False)) == [
        {"id": "a", "t": "\u2028"}
    ]
    assert parse(" \n") == []


def test_a_broken_line_is_named() -> None:
    with pytest.raises(ImportRefusedError, match="Line 2"):
        parse('{"id": "a"}\n{"id"')


def test_parents_come_first_and_circles_end() -> None:
    given_sessions: list[dict[str, Any]] = [
        {"id": "c", "parent_session_id": "b"},
        {"id": "b", "parent_session_id": "a"},
        {"id": "a", "parent_session_id": "elsewhere"},
        {"id": "x", "parent_session_id": "y"},
        {"id": "y", "parent_session_id": "x"},
    ]

    plan = plan_import(None, given_sessions)

    assert [each["id"] for each in plan.sessions] == ["a", "b", "c", "y", "x"]
    assert plan.by_source == {"unknown": 5}


def test_many_mistakes_are_not_all_told() -> None:
    with pytest.raises(ImportRefusedError) as refused:
        plan_import(None, [{"no": "id"}] * 30)

    assert "… and 20 more" in refused.value.detail


def test_a_disguised_secret_does_not_leave() -> None:
    secret = "from-the-env?>~ü"
    redactor = SessionRedactor({"SOME_TOKEN": secret})
    data = secret.encode()
    for left in ("", "a", "ab", "abc"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(left.encode() + data + b" and more").decode()
            cleaned = redactor.clean(text)
            rest = cleaned.replace("[secret]", "")
            assert len(rest) < len(text) - len(data), (left, cleaned)
    for text in (secret[::-1], data.hex(), data.hex().upper()):
        assert redactor.clean(f"before {text} after") == "before [secret] after"
    assert redactor.clean("plain words stay, dGhlc2UgdG9v") == "plain words stay, dGhlc2UgdG9v"


def test_secrets_of_tool_servers() -> None:
    servers = {
        "a": {"env": {"API_TOKEN": "planted-000001", "MODE": "production", "X_KEY": "${X_KEY}"}},
        "b": {"headers": {"Authorization": "Bearer planted-000002", "X-Api-Key": "planted-000003"}},
        "c": {"env": ["odd"], "headers": None},
        "d": "odd",
    }
    redactor = SessionRedactor({})
    for values in literal_secrets({"mcp_servers": servers}):
        redactor.learn_named(values)
    text = "planted-000001 production planted-000002 planted-000003 ${X_KEY}"
    assert redactor.clean(text) == "[secret] production [secret] [secret] ${X_KEY}"
    assert literal_secrets({"mcp_servers": ["odd"]}) == ()
