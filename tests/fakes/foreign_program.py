"""A program of another vendor that has a history open, as ``hermes`` does."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_CODE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT count(*) FROM sessions").fetchone()
print("open", flush=True)
for line in sys.stdin:
    role, _, text = line.rstrip("\\n").partition(" ")
    import time
    db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
               ("s", role, text, time.time()))
    db.commit()
    print("done", flush=True)
"""


class ForeignProgram:
    """Keeps the file open until it ends; stores messages in the session ``s``."""

    def __init__(self, db_path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CODE, str(db_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read("open")

    def store(self, role: str, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{role} {text}\n")
        self.process.stdin.flush()
        self._read("done")

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)

    def _read(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"


@contextlib.contextmanager
def foreign_program(db_path: Path) -> Iterator[ForeignProgram]:
    """Run such a program during the block."""
    program = ForeignProgram(db_path)
    try:
        yield program
    finally:
        program.end()
