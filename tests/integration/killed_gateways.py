"""Gateways that are killed while they keep chats, and what must be true afterwards. A program.

    python killed_gateways.py FOLDER ROUNDS SEED

Each round forks a child whose threads work on the chats of FOLDER and report where each chat is
once that is saved; it is killed with SIGKILL after a random time. Then every chat must be where
it was last reported, or somewhere it has never been; both files must be whole, and rows of
strangers byte for byte as they were. Prints ``N rounds, M reports`` at the end.
"""

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB

CHATS = 6
THREADS = 3
STRANGE = {"strange": '{"half":   1}', "broken": '{"a'}
GONE = "-"


def store_of(folder: Path, db: SessionDB) -> SessionStore:
    return SessionStore(folder / "sessions", GatewayConfig(), db=db)


def work(folder: Path, seed: int, report: int) -> None:
    """Change chats in several threads until killed; each chat belongs to one thread."""
    store = store_of(folder, SessionDB(folder / "state.db"))

    def keep(number: int) -> None:
        rng = random.Random(seed + number)
        while True:
            chat = rng.randrange(number, CHATS, THREADS)
            where = change(store, str(chat), rng)
            os.write(report, f"{chat} {where}\n".encode())

    for number in range(THREADS):
        threading.Thread(target=keep, args=(number,), daemon=True).start()
    threading.Event().wait()


def change(store: SessionStore, chat: str, rng: random.Random) -> str:
    entry = store.get_or_create_session(SessionSource(Platform.TELEGRAM, chat))
    key = entry.session_key
    kind = rng.choice(("use", "reset", "suspend", "forget", "mark"))
    if kind == "reset":
        store.reset_session(key)
    elif kind == "suspend":
        store.suspend_session(key)
    elif kind == "mark":
        store.mark_resume_pending(key)
        store.suspend_recently_active()
    elif kind == "forget":
        store.forget(key)
        return GONE
    return store.peek_session_id(key) or GONE


def one_round(folder: Path, rng: random.Random) -> list[tuple[str, str]]:
    """Let a child work for a moment and kill it; what it said about chats."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(folder, rng.getrandbits(32), writing)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(0.02 + rng.random() * 0.15)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the gateway failed by itself"
    with os.fdopen(reading, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    return [(chat, where) for chat, _, where in (line.partition(" ") for line in lines)]


def check(folder: Path, reports: list[tuple[str, str]]) -> None:
    """What must be true after a crash, and after the next start."""
    scope = str((folder / "sessions").resolve())
    mirror_path = folder / "sessions" / "sessions.json"
    with contextlib.closing(SessionDB(folder / "state.db")) as db:
        store = store_of(folder, db)
        store._ensure_loaded()
        been: dict[str, list[str]] = {}
        for chat, where in reports:
            been.setdefault(chat, []).append(where)
        for chat, places in been.items():
            now = store.peek_session_id(f"agent:main:telegram:dm:{chat}") or GONE
            # What was under way may have dropped the chat, or taken a dropped one up again.
            may_be_known = GONE in {now, places[-1]} or now == places[-1]
            assert may_be_known or now not in places, (chat, now, places)
            if now == GONE:  # killed before it could say so; a later round may take it up again
                reports.append((chat, GONE))
        table = db.load_gateway_routing_entries(scope=scope)
        assert {key: table[key] for key in STRANGE} == STRANGE
        json.loads(mirror_path.read_text(encoding="utf-8"))
        assert list(mirror_path.parent.iterdir()) == [mirror_path]
        for key, entry in store._entries.items():
            assert entry.session_key == key


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with contextlib.closing(SessionDB(folder / "state.db")) as db:
        scope = str((folder / "sessions").resolve())
        db.save_routing_changes(scope=scope, changed=STRANGE)
        store_of(folder, db).get_or_create_session(SessionSource(Platform.TELEGRAM, "first"))
    reports: list[tuple[str, str]] = []
    for number in range(rounds):
        reports += one_round(folder, random.Random(seed * 1_000_003 + number))
        check(folder, reports)
    print(f"{rounds} rounds, {len(reports)} reports")


if __name__ == "__main__":
    main()
