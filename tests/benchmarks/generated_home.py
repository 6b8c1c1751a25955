"""Homes of the sizes people report, made in seconds: rows go in with executemany.

Sixty percent of the sessions are automation (scheduled runs, subagents), a tenth belong to
compression chains, one session has 15,000 messages, and the messages of all sessions are
interleaved in time as they are when several programs write for months. The full-text tables stay
empty unless asked for: filling them takes minutes and only searches read them. With them the texts
use a large vocabulary in which, as in any language, few words are frequent and most are rare.
"""

import itertools
import random
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.schema import full_text_ddl

SIZES = {2_000: 76_000, 20_000: 340_000, 54_647: 760_000, 200_000: 1_200_000}
LONG_SESSION = "20250101_000000_fffff0"
LONG_MESSAGES = 15_000
NOW = 1_790_000_000.0
_YEAR = 365 * 86_400.0
_TEXT = """
refactor backup invoice trip garden kernel release thesis kitchen weather budget router docs résumé
旅行計画 отчёт مشروع deploy failing flaky cache retry branch merge please why explain
"""
_WORDS = _TEXT.split()
_SYLLABLES = [
    "ka",
    "ro",
    "ti",
    "men",
    "sol",
    "ver",
    "an",
    "du",
    "li",
    "par",
    "co",
    "en",
    "mi",
    "tas",
    "po",
    "gra",
]
RARE_PHRASE = "the walrus hypothesis"
"""Stands in a few of the texts only."""


@dataclass(frozen=True)
class GeneratedHome:
    """Where it is and what is in it."""

    path: Path
    sessions: int
    messages: int
    long_session: str = LONG_SESSION


def generate(
    path: Path,
    sessions: int,
    *,
    messages: int | None = None,
    prompt_bytes: int = 8_000,
    full_text: bool = False,
    seed: int = 7,
) -> GeneratedHome:
    """Make a home's state.db; ``path`` must not exist."""
    rng = random.Random(seed)
    total = messages if messages is not None else SIZES[sessions]
    SessionDB(path).close()
    conn = sqlite3.connect(path, isolation_level=None)
    try:
        conn.execute("PRAGMA synchronous=OFF")
        conn.execute("BEGIN")
        triggers = [sql for sql in full_text_ddl() if sql.startswith("CREATE TRIGGER")]
        if not full_text:
            for sql in triggers:
                conn.execute(f"DROP TRIGGER {sql.split()[2]}")
        starts = _add_sessions(conn, rng, sessions, prompt_bytes)
        _add_messages(conn, rng, starts, total, rich=full_text)
        if not full_text:
            for sql in triggers:
                conn.execute(sql)
        conn.execute("COMMIT")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        conn.close()
    return GeneratedHome(path, sessions, total)


def _add_sessions(
    conn: sqlite3.Connection, rng: random.Random, total: int, prompt_bytes: int
) -> dict[str, float]:
    prompt = ("You are Hermes, a helpful agent. Policy follows. " * 1_000)[:prompt_bytes]
    starts: dict[str, float] = {LONG_SESSION: NOW - _YEAR}
    rows: list[tuple[object, ...]] = [
        (LONG_SESSION, "cli", "m", "{}", prompt, None, NOW - _YEAR, None, None, "The long one")
    ]
    parent: str | None = None
    for number in range(total - 1):
        name = f"20250102_{number // 3600:06d}_{number:06x}"
        start = NOW - rng.random() * _YEAR
        kind = rng.random()
        source, config, end = "cli", "{}", rng.choice(("cli_close", None))
        above = None
        if kind < 0.35:
            source, end = "cron", "cron_complete"
        elif kind < 0.60 and parent:
            source, config, above = "subagent", f'{{"_delegate_from": "{parent}"}}', parent
        elif kind < 0.70:
            end = "compression"
        elif kind < 0.85:
            source = rng.choice(("telegram", "discord", "slack"))
        if rows[-1][8] == "compression":
            above, start, source = str(rows[-1][0]), starts[str(rows[-1][0])] + 600, "cli"
            config = "{}"
        title = f"{rng.choice(_WORDS)} {rng.choice(_WORDS)} {number}" if kind > 0.4 else None
        ended = None if end is None else start + 500
        rows.append((name, source, "m", config, prompt, above, start, ended, end, title))
        starts[name] = start
        if source == "cli":
            parent = name
    conn.executemany(
        "INSERT INTO sessions (id, source, model, model_config, system_prompt, parent_session_id, "
        "started_at, ended_at, end_reason, title) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    return starts


def _add_messages(
    conn: sqlite3.Connection,
    rng: random.Random,
    starts: dict[str, float],
    total: int,
    *,
    rich: bool,
) -> None:
    names = list(starts)
    long_count = min(LONG_MESSAGES, total // 2)
    slots = [(NOW - rng.random() * _YEAR, LONG_SESSION) for _ in range(long_count)]
    for number in range(total - long_count):
        name = names[number % len(names)] if rng.random() < 0.9 else rng.choice(names)
        slots.append((starts[name] + rng.random() * 500, name))
    slots.sort()
    texts = _rich_texts(rng) if rich else _plain_texts(rng)
    turns: dict[str, int] = dict.fromkeys(names, 0)

    def rows():
        for number, (when, name) in enumerate(slots):
            turn = turns[name]
            turns[name] = turn + 1
            role = ("user", "assistant", "tool", "assistant")[turn % 4]
            yield name, role, texts[(turn * 31 + number * 7) % len(texts)], when

    conn.executemany(
        "INSERT INTO messages (session_id, role, content, timestamp, active) "
        "VALUES (?, ?, ?, ?, 1)",
        rows(),
    )
    conn.executemany(
        "UPDATE sessions SET message_count = ? WHERE id = ?",
        [(count, name) for name, count in turns.items()],
    )


def _plain_texts(rng: random.Random) -> list[str]:
    return [" ".join(rng.choices(_WORDS, k=rng.randint(5, 90))) for _ in range(500)]


def _rich_texts(rng: random.Random) -> list[str]:
    made = (
        "".join(parts) for size in (2, 3, 4) for parts in itertools.product(_SYLLABLES, repeat=size)
    )
    words = list(itertools.islice(made, 20_000))
    for place, word in enumerate(_WORDS):
        words[20 + place * 25] = word
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
    texts = [
        " ".join(rng.choices(words, cum_weights=weights, k=rng.randint(5, 90)))
        for _ in range(20_000)
    ]
    for place in range(0, len(texts), 4_000):
        texts[place] += f" {RARE_PHRASE}"
    return texts
