"""Our state layer and the real hermes-agent on one state.db."""

import contextlib
import importlib.util
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from tests.fakes import state_files

_OBSERVE = Path(__file__).parent / "scripts" / "observe_home.py"
_ROOT = Path(__file__).parents[2]
_PICTURE = "20260104_000001_eeeeee"


def questions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("observe_home", _OBSERVE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def integrity(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        return str(conn.execute("PRAGMA integrity_check").fetchone()[0])


def objects(path: Path) -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()


@pytest.fixture
def home(hermes: Any) -> Any:
    """A home that the real program filled."""
    hermes.script("build_home.py", str(hermes.state_db))
    return hermes


def test_our_answers_are_theirs(home: Any) -> None:
    theirs = home.script("observe_home.py", str(home.state_db))
    with contextlib.closing(SessionDB(home.state_db)) as db:
        ours = json.loads(json.dumps(questions().observe(db)))
    assert ours.keys() == theirs.keys()
    for name, rows in theirs["lists"].items():
        assert ours["lists"][name] == rows, name
    assert ours["sessions"].keys() == theirs["sessions"].keys()
    for session_id, facts in theirs["sessions"].items():
        for question, answer in facts.items():
            assert ours["sessions"][session_id][question] == answer, (session_id, question)
    assert ours == theirs


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_the_list_has_the_ids_that_hermes_prints(home: Any, limit: int) -> None:
    printed = home.command("sessions", "list", "--limit", str(limit))
    theirs = re.findall(r"\d{8}_\d{6}_[0-9a-f]{6}", printed)
    with contextlib.closing(SessionDB(home.state_db)) as db:
        ours = [line.id for line in db.list_summaries(limit=limit)]
    assert ours == theirs
    assert len(ours) == min(limit, 10)


def test_structured_content_has_a_preview_here(home: Any) -> None:
    """The one thing that differs, on purpose: theirs is empty."""
    with contextlib.closing(SessionDB(home.state_db)) as db:
        db.create_session("20260105_000001_ffffff", "cli")
        db.append_message("20260105_000001_ffffff", "user", [{"type": "text", "text": "see this"}])
        assert db.list_summaries(limit=1)[0].preview == "see this"
        picture = db.read_messages(_PICTURE)[2]
    assert picture.content == "look at this"
    theirs = home.script("observe_home.py", str(home.state_db))["lists"]["created"][0]
    assert (theirs["id"], theirs["preview"]) == ("20260105_000001_ffffff", "")


def test_what_we_append_is_exported_by_hermes(home: Any, tmp_path: Path) -> None:
    tip = "20260102_000002_bbbbbb"
    with contextlib.closing(SessionDB(home.state_db)) as db:
        db.append_message(tip, "user", "from the desktop \ud800 ✓")
        db.append_message(tip, "assistant", "a reply\nof two lines", finish_reason="stop")
    out = tmp_path / "export.jsonl"
    home.command("sessions", "export", str(out), "--session-id", tip)
    exported = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    (session,) = (entry for entry in exported if entry["id"] == tip)
    assert [m["content"] for m in session["messages"]][-2:] == [
        "from the desktop � ✓",
        "a reply\nof two lines",
    ]
    assert session["message_count"] == 6
    assert integrity(home.state_db) == "ok"


def test_what_we_append_is_found_by_their_search(home: Any) -> None:
    with contextlib.closing(SessionDB(home.state_db)) as db:
        db.append_message("20260101_000001_aaaaaa", "user", "xylophone practice")
        tables = ("messages_fts", "messages_fts_trigram")
        found = [
            db.read(
                lambda conn, t=table: conn.execute(
                    f"SELECT count(*) FROM {t} WHERE {t} MATCH 'xylophone'"
                ).fetchone()[0]
            )
            for table in tables
        ]
    assert found == [1, 1]


def test_a_file_of_ours_needs_nothing_from_them(hermes: Any) -> None:
    path = hermes.state_db
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("20260101_000001_aaaaaa", "desktop", model="m", model_config={"k": 1})
        db.append_message("20260101_000001_aaaaaa", "user", "hello")
        db.set_session_title("20260101_000001_aaaaaa", "Ours")
    before = objects(path)
    assert "Ours" in hermes.command("sessions", "list")
    assert "Total messages: 1" in hermes.command("sessions", "stats")
    hermes.command("sessions", "rename", "20260101_000001_aaaaaa", "Theirs")
    assert objects(path) == before
    assert path.stat().st_mode & 0o777 == 0o600
    with contextlib.closing(SessionDB(path)) as db:
        assert db.condition.writable
        assert db.get_session_title("20260101_000001_aaaaaa") == "Theirs"


def test_a_file_of_ours_has_the_tables_that_theirs_has(hermes: Any, tmp_path: Path) -> None:
    ours = tmp_path / "ours.db"
    SessionDB(ours).close()
    hermes.script("build_home.py", str(hermes.state_db))
    assert facts(ours) == facts(hermes.state_db)


def facts(path: Path) -> dict[str, object]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        rows = conn.execute("SELECT type, name FROM sqlite_master").fetchall()
        found: dict[str, object] = {f"{kind} {name}": None for kind, name in rows}
        for kind, name in rows:
            if kind == "table":
                found[f"table {name}"] = (
                    conn.execute(f'PRAGMA table_info("{name}")').fetchall(),
                    conn.execute(f'PRAGMA foreign_key_list("{name}")').fetchall(),
                )
            elif kind == "index":
                found[f"index {name}"] = conn.execute(f'PRAGMA index_xinfo("{name}")').fetchall()
        return found


@pytest.mark.parametrize("version", state_files.OLD_VERSIONS)
def test_an_old_file_is_written_by_us_and_then_brought_up_to_date_by_them(
    hermes: Any, version: int
) -> None:
    conn = state_files.make_old_file(hermes.state_db, version)
    state_files.add_session(conn, "20250101_000001_aaaaaa", title="Old", input_tokens=7)
    state_files.add_message(conn, "20250101_000001_aaaaaa", content="old words")
    conn.close()
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        assert db.list_summaries()[0].preview == "old words"
        db.append_message("20250101_000001_aaaaaa", "user", "new words")
        db.update_token_counts("20250101_000001_aaaaaa", 3, model="m", api_call_count=1)
        assert "Total messages: 2" in hermes.command("sessions", "stats")
        assert db.list_summaries()[0].title == "Old"
        assert db.condition.schema_version == 22
        db.append_message("20250101_000001_aaaaaa", "user", "newest words")
    assert "Total messages: 3" in hermes.command("sessions", "stats")
    assert integrity(hermes.state_db) == "ok"
    with contextlib.closing(sqlite3.connect(hermes.state_db)) as conn:
        shares = conn.execute("SELECT input_tokens, task FROM session_model_usage").fetchall()
        assert shares == [(10, "")]
        found = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'words'"
        assert conn.execute(found).fetchone()[0] == 3


def test_the_watcher_sees_what_they_do(home: Any) -> None:
    with contextlib.closing(ChangeWatcher(home.state_db)) as watcher:
        watcher.look()
        home.command("sessions", "rename", "20260101_000001_aaaaaa", "Renamed", "there")
        seen = watcher.look()
        assert seen.touched == {"20260101_000001_aaaaaa"}
        home.command("sessions", "delete", "20260101_000003_aaaaaa", "--yes")
        assert watcher.look().removed == {"20260101_000003_aaaaaa"}


@pytest.mark.two_processes
def test_four_writers_lose_nothing(home: Any) -> None:
    """Two programs of theirs and two of ours append to one session at the same time."""
    path, name, count = home.state_db, "20260101_000001_aaaaaa", 150
    ours = (
        "import sys; from hermes_desktop.state import SessionDB\n"
        "path, name, label, count = sys.argv[1:]\n"
        "db = SessionDB(path)\n"
        "for n in range(int(count)):\n"
        "    calls = [{'id': str(n)}] if n % 4 == 0 else None\n"
        "    db.append_message(name, 'assistant', f'{label} {n}', tool_calls=calls)\n"
        "db.close()\n"
    )
    args = [str(path), name]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", ours, *args, label, str(count)], cwd=_ROOT, text=True
        )
        for label in ("ours-1", "ours-2")
    ] + [
        subprocess.Popen(
            home.script_command("append_messages.py", *args, label, str(count)),
            env=home.environment(),
            stdout=subprocess.DEVNULL,
        )
        for label in ("theirs-1", "theirs-2")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0, 0]
    with contextlib.closing(SessionDB(path)) as db:
        texts = [m["content"] for m in db.get_messages(name)]
        row = db.get_session(name) or {}
    for label in ("ours-1", "ours-2", "theirs-1", "theirs-2"):
        own = [text for text in texts if text.startswith(label + " ")]
        assert own == [f"{label} {number}" for number in range(count)]
    assert row["message_count"] == len(texts) == 2 + 4 * count
    assert row["tool_call_count"] == 4 * -(-count // 4)
    assert integrity(path) == "ok"
    with contextlib.closing(sqlite3.connect(path)) as conn:
        indexed = conn.execute("SELECT count(*) FROM messages_fts").fetchone()[0]
        assert indexed == conn.execute("SELECT count(*) FROM messages").fetchone()[0]


def test_token_counts_end_up_the_same(hermes: Any, tmp_path: Path) -> None:
    calls: list[dict[str, Any]] = [
        {"input_tokens": 10, "output_tokens": 5},
        {"model": "first", "billing_provider": "o", "billing_base_url": "u", "billing_mode": "b"},
        {
            "input_tokens": 7,
            "output_tokens": 1,
            "model": "m",
            "billing_provider": "p",
            "api_call_count": 1,
            "estimated_cost_usd": 0.25,
            "cost_status": "estimated",
        },
        {
            "input_tokens": 3,
            "model": "n",
            "billing_provider": "q",
            "billing_mode": "api_key",
            "api_call_count": 1,
            "actual_cost_usd": 0.5,
            "cost_source": "bill",
            "pricing_version": "v",
            "reasoning_tokens": 2,
        },
        {"input_tokens": 100, "output_tokens": 50, "absolute": True, "api_call_count": 9},
        {"cache_read_tokens": 4, "cache_write_tokens": 6, "estimated_cost_usd": 1.0},
    ]
    ours = tmp_path / "ours.db"
    with contextlib.closing(SessionDB(ours)) as db:
        db.create_session("s", "cli", model="planned")
        for session_id in ("s", "unknown one"):
            for call in calls:
                db.update_token_counts(session_id, **call)
    hermes.script("count_tokens.py", str(hermes.state_db), json.dumps(calls))
    assert usage(ours) == usage(hermes.state_db)


def usage(path: Path) -> list[dict[str, object]]:
    times = {"started_at", "first_seen", "last_seen"}
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.row_factory = sqlite3.Row
        rows = conn.execute("SELECT * FROM sessions ORDER BY id").fetchall()
        rows += conn.execute("SELECT * FROM session_model_usage ORDER BY 1, 2, 3, 4, 5").fetchall()
    return [{name: row[name] for name in row.keys() if name not in times} for row in rows]  # noqa: SIM118
