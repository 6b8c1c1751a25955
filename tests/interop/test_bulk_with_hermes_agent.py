"""Bulk work, chats, locks, windows: the same calls to both programs on equal copies of a home."""

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SessionFilter

_SCRIPTS = Path(__file__).parent / "scripts"
_ROOT = Path(__file__).parents[2]
_TIMES = {"ended_at", "first_seen", "last_seen", "acquired_at", "expires_at", "updated_at"}

Call = tuple[str, list[Any], dict[str, Any]]


def call(name: str, *args: Any, **kwargs: Any) -> Call:
    return name, list(args), kwargs


@pytest.fixture
def home(hermes: Any) -> Any:
    """A home that the real program filled, all of it long ago, and most of it ended."""
    hermes.script("build_home.py", str(hermes.state_db))
    with contextlib.closing(sqlite3.connect(hermes.state_db)) as conn:
        conn.execute(
            "UPDATE sessions SET started_at = started_at - 100 * 86400 WHERE id < '202601030'"
        )
        conn.execute("UPDATE messages SET timestamp = timestamp - 100 * 86400 "
                     "WHERE session_id < '202601030'")  # fmt: skip
        conn.execute("UPDATE sessions SET ended_at = 5e8, end_reason = 'cli_close' "
                     "WHERE ended_at IS NULL AND substr(id, 15, 1) IN ('1', '2')")  # fmt: skip
        conn.execute("UPDATE sessions SET git_branch = 'Main', input_tokens = 7, "
                     "estimated_cost_usd = 0.5 WHERE source = 'cli'")  # fmt: skip
        conn.commit()
    return hermes


@pytest.fixture
def copy(home: Any, tmp_path: Path) -> Path:
    """An equal copy of that home's file for us."""
    path = tmp_path / "ours" / "state.db"
    path.parent.mkdir()
    with (
        contextlib.closing(sqlite3.connect(home.state_db)) as theirs,
        contextlib.closing(sqlite3.connect(path)) as ours,
    ):
        theirs.backup(ours)
        ours.execute("PRAGMA journal_mode=WAL")
    return path


def both(home: Any, copy: Path, *calls: Call) -> tuple[list[Any], list[Any]]:
    text = json.dumps(calls)
    theirs = home.script("work_on_home.py", str(home.state_db), "hermes_state", text)
    done = subprocess.run(
        [
            sys.executable,
            str(_SCRIPTS / "work_on_home.py"),
            str(copy),
            "hermes_desktop.state",
            text,
        ],
        cwd=_ROOT,
        env={"PYTHONPATH": str(_ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), theirs


def rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row; of times that each program took by itself, only whether there is one."""
    tables = ("sessions", "messages", "session_model_usage", "state_meta", "gateway_routing",
              "compression_locks", "messages_fts", "messages_fts_trigram")  # fmt: skip
    found: dict[str, list[dict[str, Any]]] = {}
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        conn.row_factory = sqlite3.Row
        for table in tables:
            found[table] = [
                {
                    name: (row[name] is not None if name in _TIMES else row[name])
                    for name in row.keys()  # noqa: SIM118 - a row iterates over its values
                    if name != "row" or "fts" in table
                }
                for row in conn.execute(f"SELECT rowid AS row, * FROM {table}").fetchall()
            ]
            found[table].sort(key=lambda row: [str(value) for value in row.values()])
    return found


def same_rows(home: Any, copy: Path) -> None:
    theirs, ours = rows(home.state_db), rows(copy)
    for table in theirs:
        assert ours[table] == theirs[table], table


_PICTURE = "20260104_000001_eeeeee"
ORIGIN, CHAIN, PLAIN = "20260103_000001_dddddd", "20260102_000001_bbbbbb", "20260101_000001_aaaaaa"


@pytest.mark.parametrize(
    "name", [ORIGIN, CHAIN, "20260102_000000_bbbbbb", "20260103_000004_dddddd", "nobody"]
)
def test_deleting_one(home: Any, copy: Path, name: str) -> None:
    ours, theirs = both(home, copy, call("delete_sessions", [name]))
    assert ours == theirs
    same_rows(home, copy)


@pytest.mark.parametrize(
    "calls",
    [
        [call("delete_sessions", [ORIGIN, CHAIN, "nobody", ORIGIN])],
        [call("delete_sessions", [PLAIN, None, "nobody"])],
        [call("set_session_archived", CHAIN, True), call("set_session_archived", "nobody", True)],
        [call("set_session_archived", "20260102_000002_cccccc", True)],
        [call("prune_empty_ghost_sessions"), call("finalize_orphaned_compression_sessions")],
        [call("rebuild_fts"), call("optimize_fts")],
        [call("update_session_cwd", PLAIN, "/x", "main", None),
         call("update_session_cwd", PLAIN, "", "y", "/r"),
         call("update_session_meta", PLAIN, '{"a": 1}', "m2"),
         call("record_auxiliary_usage", PLAIN, "vision", input_tokens=3, estimated_cost_usd=0.1),
         call("record_auxiliary_usage", PLAIN, "vision", model="x", billing_provider="p")],
        [call("set_auto_title_if_empty", PLAIN, "A"),
         call("set_auto_title_if_empty", "20260101_000002_aaaaaa", "Origin"),
         call("set_auto_title_if_empty", "20260101_000002_aaaaaa", " New  one"),
         call("set_auto_title_if_empty", "nobody", "B")],
        [call("set_latest_user_api_content", PLAIN, "hello", "sent"),
         call("set_latest_user_api_content", PLAIN, "nope", "sent"),
         call("set_latest_user_api_content", ORIGIN, "nope", "sent")],
    ],
)  # fmt: skip
def test_work(home: Any, copy: Path, calls: list[Call]) -> None:
    ours, theirs = both(home, copy, *calls)
    assert ours == theirs
    same_rows(home, copy)


def test_what_hermes_keeps_is_kept(home: Any, copy: Path) -> None:
    """Ours counts from the last use and knows pins: it takes less than `hermes`, never more."""
    with contextlib.closing(sqlite3.connect(copy)) as conn:
        names = [row[0] for row in conn.execute("SELECT id FROM sessions ORDER BY id")]
        for name in names[::3]:
            conn.execute("UPDATE messages SET timestamp = 4e9 WHERE session_id = ?", (name,))
        conn.commit()
    with (
        contextlib.closing(sqlite3.connect(copy)) as ours,
        contextlib.closing(sqlite3.connect(home.state_db)) as theirs,
    ):
        ours.backup(theirs)
    with contextlib.closing(SessionDB(copy)) as db:
        db.set_session_pinned(PLAIN, pinned=True)
        for days in (0, 50, 90, None):
            candidates = call("list_prune_candidates", days)
            ((their,),) = (home.script("work_on_home.py", str(home.state_db), "hermes_state",
                                       json.dumps([candidates])),)  # fmt: skip
            mine = {each.id for each in db.candidates(unused(days))}
            assert mine < {row["id"] for row in their}
        home.command("sessions", "prune", "--older-than", "90d", "--yes")
        with contextlib.closing(sqlite3.connect(home.state_db)) as conn:
            kept = {row[0] for row in conn.execute("SELECT id FROM sessions")}
        assert PLAIN not in kept  # a pin of ours means nothing there, as one is told
        db.prune(unused(90, archived=False))
        assert kept < {row["id"] for row in db.search_sessions(limit=999)}


def unused(days: float | None, **conditions: Any) -> SessionFilter:
    before = None if days is None else time.time() - days * 86_400
    return SessionFilter(idle_before=before, **conditions)


def test_previews_of_bulk_work(home: Any, copy: Path) -> None:
    filters: list[dict[str, Any]] = [
        {},
        {"source": "cli"},
        {"source": "CLI"},
        {"older_than_days": 90},
        {"title_like": "chain"},
        {"model_like": "MODEL-X"},
        {"branch_like": "mai"},
        {"end_reason": "compression"},
        {"provider": "P"},
        {"user_id": "7"},
        {"chat_id": "5"},
        {"cwd_prefix": "/home/u"},
        {"min_messages": 4},
        {"max_messages": 2},
        {"min_tokens": 7},
        {"max_tokens": 6},
        {"min_cost": 0.5},
        {"max_cost": 0.4},
        {"max_tool_calls": 0},
        {"archived": True},
        {"archived": False},
    ]
    calls = json.dumps([call("list_prune_candidates", **each) for each in filters])
    theirs = home.script("work_on_home.py", str(home.state_db), "hermes_state", calls)
    with contextlib.closing(SessionDB(copy)) as db:
        ours = [
            [found.as_row() for found in db.candidates(unused(**{"days": None, **each}))]
            for each in (
                {name.replace("older_than_days", "days"): value for name, value in one.items()}
                for one in filters
            )
        ]
    for each, our, their in zip(filters, ours, theirs, strict=True):
        if each == {"end_reason": "compression"}:  # their conversations go on in other sessions
            assert our == [] != their
            continue
        assert in_order(our) == in_order(their), each


def in_order(found: Any) -> Any:
    return sorted(found, key=lambda row: str(row["id"])) if isinstance(found, list) else found


def test_windows_and_lists(home: Any, copy: Path) -> None:
    with contextlib.closing(SessionDB(copy)) as db:
        every = [row["id"] for row in db.search_sessions(limit=99)]
    calls = [call("list_recent_user_messages", name) for name in every]
    calls += [call("list_recent_user_messages", name, 2, True) for name in every]
    calls += [call("get_messages_as_conversation", name, repair_alternation=True) for name in every]
    for database in (home.state_db, copy):
        with contextlib.closing(sqlite3.connect(database)) as conn:
            insert = "INSERT INTO sessions (id, source, started_at) VALUES (?, ?, ?)"
            conn.executemany(insert, [("cron_x_1", "cron", 1e9), ("cron_x_2", "cli", 2e9)])
            conn.commit()
    calls += [call("list_cron_job_runs", "x")]
    ours, theirs = both(home, copy, *calls)
    for question, our, their in zip(calls, ours, theirs, strict=True):
        assert our == their, question


def test_exports(home: Any, copy: Path, tmp_path: Path) -> None:
    with contextlib.closing(SessionDB(copy)) as db:
        names = [row["id"] for row in db.search_sessions(limit=99)]
        calls = [call("export_session_lineage", name) for name in (*names, "nobody")]
        calls += [call("export_all"), call("export_all", "telegram")]
        ours, theirs = both(home, copy, *calls)
        for question, our, their in zip(calls, ours, theirs, strict=True):
            assert our == their, question
        out = tmp_path / "all.jsonl"
        home.command("sessions", "export", str(out))
        printed = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        mine = {each["id"]: each for each in db.export_all()}
        assert {each["id"] for each in printed} == set(mine)
        for each in printed:
            assert {key: each[key] for key in mine[each["id"]] if key in each} == {
                key: value for key, value in mine[each["id"]].items() if key in each
            }


def test_imports(home: Any, copy: Path, tmp_path: Path) -> None:
    with contextlib.closing(SessionDB(copy)) as db:
        exported = json.loads(json.dumps(db.export_all()))
    results = []
    for program in ("import theirs", "import ours"):
        path = tmp_path / program / "state.db"
        path.parent.mkdir(exist_ok=True)
        if program == "import ours":
            with contextlib.closing(SessionDB(path)) as fresh:
                for _ in range(2):
                    result = fresh.import_sessions(exported)
                    assert result.pop("retitled") == []
                    results.append(result)
        else:
            calls = json.dumps([call("import_sessions", exported)] * 2)
            (tmp_path / "calls.json").write_text(calls, encoding="utf-8")
            results += home.script("import_twice.py", str(path), str(tmp_path / "calls.json"))
    assert results[:2] == results[2:]
    theirs, ours = (rows(tmp_path / each / "state.db") for each in ("import theirs", "import ours"))
    assert ours["sessions"] == theirs["sessions"]
    for found in (ours, theirs):
        found["messages"].sort(key=lambda row: (row["session_id"], row["id"]))
        for row in found["messages"]:
            del row["id"]
    assert ours["messages"] == theirs["messages"]


def test_chats_and_locks(home: Any, copy: Path) -> None:
    peer = {"user_id": "u", "chat_id": "c", "chat_type": "dm"}
    calls = [
        call("create_session", "t1", "telegram", session_key="K", **peer),
        call("append_message", "t1", "user", "x"),
        call("create_session", "t2", "telegram", session_key="K", **peer),
        call("record_gateway_session_peer", "t2", source="telegram", session_key="K",
             display_name="D", origin_json="{}", **peer),
        call("record_gateway_session_peer", PLAIN, source="telegram", user_id="q"),
        call("record_gateway_session_peer", "nobody", source="telegram", session_key="z"),
        call("find_latest_gateway_session_for_peer", source="telegram", session_key="K"),
        call("find_latest_gateway_session_for_peer", source="TELEGRAM", session_key="K"),
        call("find_latest_gateway_session_for_peer", source="telegram", session_key="no", **peer),
        call("find_latest_gateway_session_for_peer", source="telegram", **peer),
        call("set_expiry_finalized", "t1"),
        call("load_gateway_routing_entries", scope="s"),
        call("load_gateway_routing_entries"),
        *(call("request_handoff", name, "telegram") for name in ("t1", "t1", "nobody", PLAIN)),
        call("claim_handoff", "t1"), call("claim_handoff", "t1"),
        call("fail_handoff", "t1", "e" * 600), call("get_handoff_state", "t1"),
        call("get_handoff_state", "nobody"), call("list_pending_handoffs"),
        call("claim_handoff", PLAIN), call("complete_handoff", PLAIN),
        call("try_acquire_compression_lock", "t1", "h"),
        call("try_acquire_compression_lock", "t1", "g"),
        call("refresh_compression_lock", "t1", "g"), call("refresh_compression_lock", "t1", "h"),
        call("get_compression_lock_holder", "t1"), call("get_compression_lock_holder", "t2"),
        call("release_compression_lock", "t1", "g"), call("try_acquire_compression_lock", "", "h"),
        call("try_acquire_compression_lock", "e", "h", -1),
        call("get_compression_lock_holder", "e"), call("refresh_compression_lock", "e", "h"),
        call("try_acquire_compression_lock", "e", "z"),
        call("record_compression_failure_cooldown", "t1", 4e9, "boom"),
        call("record_compression_failure_cooldown", "t2", 5, "boom"),
        call("get_compression_failure_cooldown", PLAIN),
        call("clear_compression_failure_cooldown", PLAIN),
        call("set_compression_fallback_streak", "t1", -4),
        call("set_compression_fallback_streak", "t2", 4),
        call("get_compression_fallback_streak", "t2"),
        call("get_compression_fallback_streak", "nobody"),
    ]  # fmt: skip
    ours, theirs = both(home, copy, *calls)
    for question, our, their in zip(calls, ours, theirs, strict=True):
        assert without_times(our) == without_times(their), question


def without_times(found: Any) -> Any:
    if isinstance(found, list):
        return [without_times(each) for each in found]
    if isinstance(found, dict):
        skipped = {*_TIMES, "started_at", "timestamp", "last_active"}
        return {key: value for key, value in found.items() if key not in skipped}
    return found


@pytest.fixture
def our_store(copy: Path) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(copy)) as db:
        yield db


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (("rename", PLAIN, "New", "name"), lambda db: db.set_session_title(PLAIN, "New name")),
        (("delete", ORIGIN, "--yes"), lambda db: db.delete_sessions([ORIGIN])),
        (
            ("prune", "--older-than", "90d", "--yes"),
            lambda db: db.prune(unused(90, archived=False)),
        ),
        (("prune", "--yes"), lambda db: db.prune(unused(90, archived=False))),
        (
            ("prune", "--source", "telegram", "--yes"),
            lambda db: db.prune(SessionFilter(source="telegram", archived=False)),
        ),
        (
            ("archive", "--source", "telegram", "--yes"),
            lambda db: db.archive(SessionFilter(source="telegram", archived=False)),
        ),
    ],
)
def test_the_command_line(
    home: Any, our_store: SessionDB, words: tuple[str, ...], ours: Any
) -> None:
    home.command("sessions", *words)
    ours(our_store)
    same_rows(home, our_store.db_path)
    printed = home.command("sessions", "stats")
    assert f"Total sessions: {our_store.session_count()}" in printed
    assert f"Total messages: {our_store.message_count()}" in printed
