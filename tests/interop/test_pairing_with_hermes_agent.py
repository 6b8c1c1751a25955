"""Either program answers what was asked of the other; both see the same people."""

import re

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.gateway.access.pairing import PairingStore
from tests.interop.conftest import RealHermes


@pytest.fixture
def store(hermes: RealHermes) -> PairingStore:
    return PairingStore(hermes.home, SystemClock())


def listed(hermes: RealHermes) -> list[list[str]]:
    """The lines of ``hermes pairing list`` that name somebody."""
    lines = hermes.command("pairing", "list").splitlines()
    return [line.split() for line in lines if line.strip().startswith("telegram")]


def test_our_request_is_answered_by_hermes(hermes: RealHermes, store: PairingStore) -> None:
    env = hermes.home / ".env"
    env.write_text("TELEGRAM_ALLOWED_USERS=1\nOTHER=2\n")
    code = store.request("telegram", "42", "Ann").code
    [[_, _, user_id, name, *_]] = listed(hermes)
    assert (user_id, name) == ("42", "Ann")

    assert "Approved" in hermes.command("pairing", "approve", "telegram", str(code).lower())

    assert store.is_approved("telegram", "42")
    assert store.pending() == []
    assert store.approved()[0].user_name == "Ann"
    assert env.read_text() == "TELEGRAM_ALLOWED_USERS=1,42\nOTHER=2\n"
    assert "Revoked" in hermes.command("pairing", "revoke", "telegram", "42")
    assert not store.is_approved("telegram", "42")


def test_its_request_is_answered_here(hermes: RealHermes, store: PairingStore) -> None:
    (hermes.home / ".env").write_text("TELEGRAM_ALLOWED_USERS=1 # me\n")
    first = hermes.script("ask_to_pair.py", "telegram", "42", "Ann")
    hermes.script("ask_to_pair.py", "telegram", "43", "Bo")
    assert [request.user_name for request in store.pending()] == ["Ann", "Bo"]
    assert store.request("telegram", "43", "Bo").why == "asked_lately"

    store.approve_code("telegram", first)
    store.approve("telegram", store.pending()[0].entry_id)

    assert {words[1]: words[2] for words in listed(hermes)} == {"42": "Ann", "43": "Bo"}
    assert hermes.script("ask_to_pair.py", "approved", "telegram", "42") is True
    assert (hermes.home / ".env").read_text() == "TELEGRAM_ALLOWED_USERS=1,42,43 # me\n"
    store.revoke("telegram", "42")
    assert hermes.script("ask_to_pair.py", "approved", "telegram", "42") is False
    assert (hermes.home / ".env").read_text() == "TELEGRAM_ALLOWED_USERS=1,43 # me\n"


def test_limits_hold_across_both(hermes: RealHermes, store: PairingStore) -> None:
    code = store.request("telegram", "42", "Ann").code
    assert hermes.script("ask_to_pair.py", "telegram", "42", "Ann") is None
    hermes.script("ask_to_pair.py", "telegram", "43", "Bo")
    store.request("telegram", "44", "Cy")
    assert hermes.script("ask_to_pair.py", "telegram", "45", "Di") is None
    assert store.request("telegram", "46", "Ed").why == "full"

    for _ in range(3):
        with pytest.raises(NotFoundError):
            store.approve_code("telegram", "AAAAAAAA")
    for _ in range(2):
        hermes.command("pairing", "approve", "telegram", "AAAAAAAA")
    with pytest.raises(RefusedError):
        store.approve_code("telegram", str(code))
    refused = hermes.command("pairing", "approve", "telegram", str(code))
    assert re.search("locked out", refused)


def test_an_older_home_is_the_same_place_for_both(hermes: RealHermes, store: PairingStore) -> None:
    older = hermes.home / "pairing"
    older.mkdir()
    (older / "telegram-approved.json").write_text('{"7": {"user_name": "L", "approved_at": 1}}')
    code = store.request("telegram", "42", "Ann").code
    hermes.command("pairing", "approve", "telegram", str(code))
    assert {user.user_id for user in store.approved()} == {"7", "42"}
    assert sorted(words[1] for words in listed(hermes)) == ["42", "7"]


def test_requests_of_older_releases_are_answered_here(old_hermes: RealHermes) -> None:
    store = PairingStore(old_hermes.home, SystemClock())
    first = old_hermes.script("ask_to_pair.py", "telegram", "42", "Ann")
    old_hermes.script("ask_to_pair.py", "telegram", "43", "Bo")
    assert [request.user_name for request in store.pending()] == ["Ann", "Bo"]

    store.approve_code("telegram", first)
    store.deny("telegram", store.pending()[0].entry_id)

    assert [words[1] for words in listed(old_hermes)] == ["42"]
    assert old_hermes.script("ask_to_pair.py", "approved", "telegram", "42") is True
