"""One process per bot token on this machine."""

import hashlib
import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.gateway.identity.token_locks import TokenLocks, TokenOwner, locks_folder
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from tests.fakes.clock import MovableClock
from tests.fakes.identity import gateway_lookalike
from tests.support.waiting import wait_until

SCOPE = "telegram-bot-token"
TOKEN = "123:secret"


@pytest.fixture
def locks(tmp_path: Path) -> TokenLocks:
    return TokenLocks(tmp_path / "locks", MovableClock())


@pytest.fixture
def ours() -> Iterator[GatewayRecord]:
    with gateway_lookalike("hermes-gateway", "ours") as record:
        yield record


@pytest.fixture
def theirs() -> Iterator[GatewayRecord]:
    with gateway_lookalike("hermes", "gateway", "run") as record:
        yield record


def take(locks: TokenLocks, record: GatewayRecord) -> TokenOwner | None:
    return locks.acquire(SCOPE, TOKEN, "telegram", record)


def test_a_lock_names_the_process_and_not_the_token(locks: TokenLocks, ours: GatewayRecord) -> None:
    assert take(locks, ours) is None

    path = locks.path(SCOPE, TOKEN)
    written = json.loads(path.read_text())
    assert path.name == f"{SCOPE}-{hashlib.sha256(TOKEN.encode()).hexdigest()[:16]}.lock"
    assert written["pid"] == ours.pid
    assert written["scope"] == SCOPE
    assert written["metadata"] == {"platform": "telegram"}
    assert TOKEN not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_live_owner_is_named_and_stays(
    locks: TokenLocks, ours: GatewayRecord, theirs: GatewayRecord, tmp_path: Path
) -> None:
    assert take(TokenLocks(tmp_path / "locks"), theirs) is None

    owner = take(locks, ours)

    assert owner is not None
    assert owner.record.pid == theirs.pid
    assert owner.platform == "telegram"
    locks.release_all()
    assert json.loads(locks.path(SCOPE, TOKEN).read_text())["pid"] == theirs.pid


@pytest.mark.parametrize("case", ["dead", "other start", "no gateway", "frozen", "empty"])
def test_a_lock_that_is_worth_nothing_is_taken(
    locks: TokenLocks, ours: GatewayRecord, theirs: GatewayRecord, case: str
) -> None:
    owner = {
        "dead": GatewayRecord(2**22 - 3, (), 1),
        "other start": theirs._replace(start_time=1),
        "no gateway": GatewayRecord(os.getpid(), (), process_facts.start_time(os.getpid())),
        "frozen": theirs,
        "empty": ours,
    }[case]
    take(locks, owner)
    if case == "frozen":
        os.kill(theirs.pid, signal.SIGSTOP)
        wait_until(lambda: process_facts.is_frozen(theirs.pid))
    if case == "empty":
        locks.path(SCOPE, TOKEN).write_text("")

    assert take(locks, ours) is None
    assert json.loads(locks.path(SCOPE, TOKEN).read_text())["pid"] == ours.pid


def test_locks_follow_a_new_identity_process(
    locks: TokenLocks, ours: GatewayRecord, theirs: GatewayRecord, tmp_path: Path
) -> None:
    dead = GatewayRecord(2**22 - 3, ("hermes-gateway",), 1)
    take(locks, dead)
    locks.acquire("discord-bot-token", "d", "discord", dead)
    TokenLocks(tmp_path / "locks").acquire("discord-bot-token", "d", "discord", theirs)

    lost = locks.rename_all(ours)

    assert json.loads(locks.path(SCOPE, TOKEN).read_text())["pid"] == ours.pid
    assert list(lost) == ["discord"]
    locks.release_all()
    assert not locks.path(SCOPE, TOKEN).exists()
    assert locks.path("discord-bot-token", "d").exists()


def test_the_folder_is_the_shared_one() -> None:
    assert locks_folder({"HERMES_GATEWAY_LOCK_DIR": "/l"}) == Path("/l")
    assert locks_folder({"XDG_STATE_HOME": "/s"}) == Path("/s/hermes/gateway-locks")
    assert locks_folder({}) == Path.home() / ".local/state/hermes/gateway-locks"
