"""``gateway pairing``: who waits, who is let in, in the files of ``hermes pairing``."""

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.gateway.access.pairing import PairingStore
from tests.cli.test_light_commands import HEAVY, loaded
from tests.fakes.program import Program, files_of
from tests.fakes.terminal import at_terminal


@pytest.fixture
def store(home: Path) -> PairingStore:
    return PairingStore(home, SystemClock())


@pytest.fixture
def code(store: PairingStore) -> str:
    """That of Anna, who waits; Bob was let in long ago."""
    bobs = store.request("telegram", "22", "Bob").code
    assert bobs is not None
    store.approve_code("telegram", bobs)
    annas = store.request("telegram", "11", "Anna\x1b[2J\u202e").code
    assert annas is not None
    return annas


def listed(program: Program) -> list[dict[str, Any]]:
    done = program.run("gateway", "pairing", "list", "--json")
    assert done.code == 0, done.err
    return list(json.loads(done.out))


def test_an_empty_list_makes_nothing(program: Program, home: Path) -> None:
    done = program.run("gateway", "pairing", "list")

    assert (done.code, done.out) == (0, "No pairing requests and no approved users.\n")
    assert listed(program) == []
    assert list(home.iterdir()) == []


def test_who_waits_stands_before_who_was_let_in(
    program: Program, store: PairingStore, code: str
) -> None:
    (request,) = store.pending()

    lines = program.run("gateway", "pairing", "list").out.splitlines()
    screen = at_terminal(program, "gateway", "pairing", "list").out

    assert lines[0].split("\t")[:3] == ["waiting", "telegram", "11"]
    assert lines[0].split("\t")[4:] == [request.entry_id, "Anna [2J"]
    assert lines[1].split("\t")[:3] == ["approved", "telegram", "22"]
    assert code not in "".join(lines)
    assert "Status" in screen
    assert "\x1b[2J" not in screen
    assert [(each["standing"], each["user_id"]) for each in listed(program)] == [
        ("waiting", "11"),
        ("approved", "22"),
    ]


def test_a_code_lets_in(program: Program, store: PairingStore, code: str) -> None:
    done = program.run("gateway", "pairing", "approve", "Telegram", code.lower())

    assert done.code == 0, done.err
    assert done.out == "“Anna [2J” (telegram 11) can now write to the bot.\n"
    assert store.is_approved("telegram", "11")
    assert store.pending() == []


def test_a_request_lets_in(program: Program, store: PairingStore, code: str) -> None:
    (request,) = store.pending()

    done = program.run("gateway", "pairing", "approve", "telegram", request.entry_id, "--json")

    (only,) = json.loads(done.out)
    assert (only["standing"], only["user_id"]) == ("approved", "11")
    assert store.is_approved("telegram", "11")


@pytest.mark.usefixtures("code")
def test_wrong_codes_are_counted(program: Program, store: PairingStore) -> None:
    codes = [program.run("gateway", "pairing", "approve", "telegram", "WRONG111") for _ in range(6)]

    assert [each.code for each in codes] == [3, 3, 3, 3, 3, 5]
    assert "Too many wrong codes" in codes[-1].err
    assert not store.is_approved("telegram", "11")


@pytest.mark.parametrize("by", ["entry", "beginning", "user"])
@pytest.mark.usefixtures("code")
def test_a_request_is_denied(program: Program, store: PairingStore, by: str) -> None:
    (request,) = store.pending()
    names = {"entry": request.entry_id, "beginning": request.entry_id[:6], "user": "11"}

    done = program.run("gateway", "pairing", "deny", "telegram", names[by], "--yes")

    assert done.code == 0, done.err
    assert done.out == "Rejected the request of “Anna [2J” (telegram 11).\n"
    assert store.pending() == []
    assert not store.is_approved("telegram", "11")


@pytest.mark.usefixtures("code")
def test_somebody_may_write_no_longer(program: Program, store: PairingStore) -> None:
    done = program.run("gateway", "pairing", "revoke", "telegram", "22", "--yes", "--json")

    (only,) = json.loads(done.out)
    assert (only["user_id"], only["user_name"]) == ("22", "Bob")
    assert not store.is_approved("telegram", "22")


@pytest.mark.parametrize("words", [["deny", "telegram", "11"], ["revoke", "telegram", "22"]])
@pytest.mark.usefixtures("code")
def test_it_is_asked_before(program: Program, home: Path, words: list[str]) -> None:
    before = files_of(home)

    refused = program.run("gateway", "pairing", *words)
    dry = program.run("gateway", "pairing", *words, "--dry-run")
    declined = at_terminal(program, "gateway", "pairing", *words, typed=b"n\n")

    assert (refused.code, dry.code, declined.code) == (5, 0, 5)
    assert f"(telegram {words[2]})" in dry.out
    assert f"(telegram {words[2]})" in declined.out
    assert files_of(home) == before


@pytest.mark.parametrize(
    "words",
    [
        ["deny", "telegram", "99"],
        ["deny", "discord", "11"],
        ["deny", "telegram", "Anna"],  # a name is chosen by a stranger
        ["deny", "telegram", ""],
        ["revoke", "telegram", "11"],
        ["revoke", "telegram", "Bob"],
        ["approve", "telegram", ""],
    ],
)
@pytest.mark.usefixtures("code")
def test_nobody_of_that_name(program: Program, store: PairingStore, words: list[str]) -> None:
    done = program.run("gateway", "pairing", *words, *([] if words[0] == "approve" else ["--yes"]))

    assert done.code == 3
    assert len(store.pending()) == len(store.approved()) == 1


@pytest.mark.parametrize("name", ["../../x", "a/b", ""])
def test_what_can_be_no_platform(program: Program, home: Path, name: str) -> None:
    done = program.run("gateway", "pairing", "approve", name, "ABCDEFGH")

    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    assert not list(home.parent.glob("x*"))


@pytest.mark.usefixtures("code")
def test_a_list_loads_little(program: Program) -> None:
    modules = loaded(program, "gateway", "pairing", "list")

    assert not (HEAVY - {"yaml"}) & modules
    assert "sqlite3" not in modules
