"""Two writers of ours beside two of hermes-agent, for a minute, on one session."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB

SECONDS = float(os.environ.get("HERMES_WRITERS_SECONDS", "60"))
SESSION = "20260101_120000_abcdef"
ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(SECONDS + 120)]


def start(command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_nobody_loses_or_starves(hermes: Any) -> None:
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        db.create_session(SESSION, "cli")
    ours = {**hermes.environment(), "PYTHONPATH": str(ROOT)}
    script = str(Path(__file__).parent / "scripts" / "append_for_seconds.py")
    where = [str(hermes.state_db), SESSION]
    writers = [
        start([sys.executable, script, "hermes_desktop.state", *where, label, str(SECONDS)], ours)
        for label in ("ours-1", "ours-2")
    ] + [
        start(
            hermes.script_command(
                "append_for_seconds.py", "hermes_state", *where, label, str(SECONDS)
            ),
            hermes.environment(),
        )
        for label in ("theirs-1", "theirs-2")
    ]
    told = [json.loads(writer.communicate(timeout=SECONDS + 60)[0]) for writer in writers]
    print(told)
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]

    with contextlib.closing(sqlite3.connect(hermes.state_db)) as conn:
        texts = [row[0] for row in conn.execute("SELECT content FROM messages ORDER BY id")]
        row = conn.execute("SELECT message_count, tool_call_count FROM sessions").fetchone()
        indexed = [
            conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("messages_fts", "messages_fts_trigram")
        ]
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    total = sum(each["written"] for each in told)
    for each in told:
        own = [text for text in texts if text.startswith(each["label"] + " ")]
        assert own == [f"{each['label']} {number}" for number in range(each["written"])]
        # SQLite's lock is not fair: nobody may be shut out, an equal share is not promised.
        assert each["written"] > total / 100, "a writer starved"
    assert row == (total, sum(-(-each["written"] // 4) for each in told))
    assert indexed == [total, total]
