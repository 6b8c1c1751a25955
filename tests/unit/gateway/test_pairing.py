"""Asking to be let in, and the owner's answers, on real files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import (
    ConfigError,
    HermesError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from hermes_desktop.gateway.access.pairing import (
    ALPHABET,
    PairedUser,
    PairingResponse,
    PairingStore,
)
from tests.fakes.clock import MovableClock


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def store(tmp_path: Path, clock: MovableClock) -> PairingStore:
    return PairingStore(tmp_path, clock)


def ask(store: PairingStore, user_id: str = "42", name: str | None = "Ann") -> str:
    answer = store.request("telegram", user_id, name)
    assert answer.code is not None
    return answer.code


def stored(home: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "platforms" / "pairing" / name).read_text())
    return found


def test_looking_makes_nothing(tmp_path: Path, store: PairingStore) -> None:
    assert store.pending() == []
    assert store.approved() == []
    assert not store.is_approved("telegram", "42")
    assert list(tmp_path.iterdir()) == []


def test_a_code_lets_in_once(tmp_path: Path, store: PairingStore, clock: MovableClock) -> None:
    code = ask(store)
    assert len(code) == 8
    assert set(code) <= set(ALPHABET)
    assert code not in (tmp_path / "platforms/pairing/telegram-pending.json").read_text()
    [request] = store.pending()
    assert (request.platform, request.user_id, request.user_name) == ("telegram", "42", "Ann")
    assert request.created_at == clock.time()
    assert not store.is_approved("telegram", "42")

    user = store.approve_code("telegram", f" {code.lower()} ")

    assert user == PairedUser("telegram", "42", "Ann", clock.time())
    assert store.is_approved("telegram", " 42 ")
    assert not store.is_approved("discord", "42")
    assert store.pending() == []
    assert store.approved() == [user]
    with pytest.raises(NotFoundError):
        store.approve_code("telegram", code)
    for path in (tmp_path / "platforms" / "pairing").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_the_owner_answers_a_request_by_its_id(store: PairingStore) -> None:
    ask(store, "1")
    ask(store, "2", None)
    first, second = store.pending()
    assert store.deny("telegram", first.entry_id) == first
    assert store.approve("telegram", second.entry_id).user_id == "2"
    assert store.pending() == []
    assert [user.user_id for user in store.approved()] == ["2"]
    for answer in (store.approve, store.deny):
        with pytest.raises(NotFoundError, match="no longer exists"):
            answer("telegram", first.entry_id)


def test_the_same_person_is_answered_every_ten_minutes(
    store: PairingStore, clock: MovableClock
) -> None:
    old = ask(store)
    assert store.request("telegram", "42", "Ann") == PairingResponse(None, "asked_lately")
    clock.advance(600)
    new = ask(store)
    assert len(store.pending()) == 1
    with pytest.raises(NotFoundError):
        store.approve_code("telegram", old)
    store.approve_code("telegram", new)


def test_three_wait_at_most_and_the_fourth_hears_it_once(
    store: PairingStore, clock: MovableClock
) -> None:
    for user in "123":
        ask(store, user)
    assert store.request("telegram", "4", "").why == "full"
    assert store.request("telegram", "4", "").why == "asked_lately"
    assert store.request("discord", "4", "").code is not None
    clock.advance(3600)
    assert store.pending() == []
    ask(store, "4")


def test_a_code_lasts_an_hour(store: PairingStore, clock: MovableClock) -> None:
    code = ask(store)
    [request] = store.pending()
    clock.advance(3600)
    with pytest.raises(NotFoundError):
        store.approve_code("telegram", code)
    with pytest.raises(NotFoundError):
        store.approve("telegram", request.entry_id)


def test_five_wrong_codes_close_that_way_for_an_hour(
    store: PairingStore, clock: MovableClock
) -> None:
    code = ask(store)
    for _ in range(5):
        with pytest.raises(NotFoundError):
            store.approve_code("telegram", "AAAAAAAA")
    with pytest.raises(RefusedError, match="wrong codes") as refused:
        store.approve_code("telegram", code)
    assert "60 min" in refused.value.detail
    assert store.request("telegram", "43", "").why == "locked"
    store.approve("telegram", store.pending()[0].entry_id)  # the owner at the machine may
    clock.advance(3600)
    ask(store, "43")


def test_revoked_means_out(store: PairingStore) -> None:
    store.approve_code("telegram", ask(store))
    assert store.revoke("telegram", "42")
    assert not store.is_approved("telegram", "42")
    assert not store.revoke("telegram", "42")


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [
        ("TELEGRAM_ALLOWED_USERS=1 # me\nX=2\n", "TELEGRAM_ALLOWED_USERS=1,42 # me\nX=2\n", None),
        ("TELEGRAM_ALLOWED_USERS=\nX=2\n", "TELEGRAM_ALLOWED_USERS=\nX=2\n", None),
        ("X=2\n", "X=2\n", None),
        ("TELEGRAM_ALLOWED_USERS=*\n", "TELEGRAM_ALLOWED_USERS=*\n", None),
        ("TELEGRAM_ALLOWED_USERS=42\nX=2\n", "TELEGRAM_ALLOWED_USERS=42\nX=2\n", "X=2\n"),
    ],
)
def test_a_list_in_env_is_kept_up(
    tmp_path: Path, store: PairingStore, before: str, between: str, after: str | None
) -> None:
    env = tmp_path / ".env"
    env.write_text(before)
    store.approve_code("telegram", ask(store))
    assert env.read_text() == between
    store.revoke("telegram", "42")
    assert env.read_text() == (before if after is None else after)


def test_ids_that_mean_more_are_never_written_to_env(tmp_path: Path, store: PairingStore) -> None:
    env = tmp_path / ".env"
    env.write_text("TELEGRAM_ALLOWED_USERS=1\n")
    user = "7\nGATEWAY_ALLOW_ALL_USERS=true"
    store.approve_code("telegram", ask(store, user, "A\x1b[2J\nB"))
    assert env.read_text() == "TELEGRAM_ALLOWED_USERS=1\n"
    assert store.is_approved("telegram", user)
    assert store.approved()[0].user_name == "A [2J B"


def test_who_cannot_be_taken_out_of_a_list_is_named(tmp_path: Path, store: PairingStore) -> None:
    (tmp_path / ".env").write_text("TELEGRAM_ALLOWED_USERS='a b, 42'\n")
    with pytest.raises(ConfigError, match="cannot be changed from here"):
        store.revoke("telegram", "42")


def test_whatsapp_ids_are_compared_without_device(tmp_path: Path, store: PairingStore) -> None:
    (tmp_path / ".env").write_text("WHATSAPP_ALLOWED_USERS=1,+2\n")
    answer = store.request("whatsapp", "123:4@s.whatsapp.net", "Ann")
    store.approve_code("whatsapp", str(answer.code))
    assert store.is_approved("whatsapp", "123@lid")
    assert (tmp_path / ".env").read_text() == "WHATSAPP_ALLOWED_USERS=1,+2,123\n"
    assert store.revoke("whatsapp", "123:9@s.whatsapp.net")
    assert store.revoke("whatsapp", "2@s.whatsapp.net")
    assert (tmp_path / ".env").read_text() == "WHATSAPP_ALLOWED_USERS=1\n"


def test_an_older_home_keeps_its_folder(tmp_path: Path, store: PairingStore) -> None:
    older = tmp_path / "pairing"
    older.mkdir()
    (older / "telegram-approved.json").write_text('{"7": {"user_name": "Old", "approved_at": 1}}')
    newer = tmp_path / "platforms" / "pairing"
    newer.mkdir(parents=True)
    (newer / "telegram-approved.json").write_text('{"8": {"user_name": "New", "approved_at": 2}}')

    store.approve_code("telegram", ask(store))

    assert {user.user_id for user in store.approved()} == {"7", "8", "42"}
    assert set(json.loads((older / "telegram-approved.json").read_text())) == {"7", "8", "42"}
    assert store.revoke("telegram", "8")
    assert json.loads((newer / "telegram-approved.json").read_text()) == {}
    assert not store.is_approved("telegram", "8")


def test_records_that_make_no_sense_do_no_harm(tmp_path: Path, store: PairingStore) -> None:
    folder = tmp_path / "platforms" / "pairing"
    folder.mkdir(parents=True)
    (folder / "telegram-pending.json").write_text(
        '{"a": 1, "b": {"hash": "x"}, "d": {"user_id": "5", "created_at": 1e400},'
        '"c": {"hash": 5, "salt": "zz", "user_id": 5, "created_at": "soon"}}'
    )
    (folder / "telegram-approved.json").write_text('{"9": null, "10": {"approved_at": "x"}}')
    (folder / "_rate_limits.json").write_text('{"telegram:42": "x", "_failures:telegram": null}')
    assert store.pending() == []
    assert {user.user_id for user in store.approved()} == {"9", "10"}
    with pytest.raises(NotFoundError):
        store.approve_code("telegram", "AAAAAAAA")
    store.approve_code("telegram", ask(store))
    assert store.is_approved("telegram", "9")


def test_a_request_of_an_old_hermes_is_answered_by_its_code(
    tmp_path: Path, store: PairingStore, clock: MovableClock
) -> None:
    folder = tmp_path / "platforms" / "pairing"
    folder.mkdir(parents=True)
    record = {"user_id": "43", "user_name": "Bo", "created_at": clock.time()}
    (folder / "telegram-pending.json").write_text(json.dumps({"FUAZ3FUB": record}))
    with pytest.raises(NotFoundError):
        store.approve_code("telegram", "ÄAZ3FUB")
    assert store.approve_code("telegram", "fuaz3fub").user_id == "43"
    assert store.pending() == []


def test_a_file_that_is_no_json_is_put_aside(tmp_path: Path, store: PairingStore) -> None:
    folder = tmp_path / "platforms" / "pairing"
    folder.mkdir(parents=True)
    (folder / "telegram-approved.json").write_text("not json")
    store.approve_code("telegram", ask(store))
    assert store.is_approved("telegram", "42")
    assert (folder / "telegram-approved.json.unreadable").read_text() == "not json"


def test_a_name_that_could_name_another_file_is_refused(store: PairingStore) -> None:
    for name in ("../x", "a/b", "", "A"):
        with pytest.raises(UsageError):
            store.approve_code(name, "AAAAAAAA")
        with pytest.raises(UsageError):
            store.is_approved(name, "1")


def test_a_folder_that_cannot_be_made(tmp_path: Path, store: PairingStore) -> None:
    (tmp_path / "platforms").write_text("")
    with pytest.raises(HermesError, match="cannot be saved"):
        store.request("telegram", "42", "Ann")


@pytest.mark.two_processes
def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from hermes_desktop.core.clock import SystemClock\n"
        "from hermes_desktop.gateway.access.pairing import PairingStore\n"
        "store = PairingStore(Path(sys.argv[1]), SystemClock())\n"
        "for number in range(30):\n"
        "    answer = store.request('telegram', f'{sys.argv[2]}{number}', '')\n"
        "    if answer.code: store.approve_code('telegram', answer.code)\n"
    )
    others = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), name], cwd=Path(__file__).parents[3]
        )
        for name in "ab"
    ]
    assert [other.wait(60) for other in others] == [0, 0]
    approved = stored(tmp_path, "telegram-approved.json")
    assert len(approved) == 60
    assert stored(tmp_path, "telegram-pending.json") == {}
