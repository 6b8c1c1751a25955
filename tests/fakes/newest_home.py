"""Homes in the format of the newest Hermes releases, and a gateway that answers their socket.

The format is layout 30, with and without the marks of the gateway as the only writer. The gateway
answers on their control socket.
"""

import contextlib
import hashlib
import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.state.database.schema import INDEXES, TABLES, Column, index_ddl, table_ddl
from tests.fakes.state_files import add_message, add_session

NOW = 1_795_000_000.0
_COUNT = "NOT NULL DEFAULT 0"
_SESSIONS = (
    *(
        Column(name, "TEXT")
        for name in (
            "created_source",
            "system_prompt_hash",
            "title_source",
            "last_activity_description",
            "last_activity_provenance",
            "transport_profile",
            "tool_names",
        )
    ),
    Column("last_activity_at", "REAL"),
    Column("last_read_at", "REAL"),
    *(
        Column(name, "INTEGER", _COUNT)
        for name in ("git_metadata_generation", "pinned", "hidden", "compression_overload_streak")
    ),
)
_MESSAGES = (
    Column("_compressed_summary", "INTEGER", _COUNT),
    Column("display_kind", "TEXT"),
    Column("display_metadata", "TEXT"),
    Column("display_identity", "BLOB"),
    Column("display_order", "INTEGER"),
)
_MORE_TABLES = """
CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
CREATE TABLE session_turn_leases (conversation_id TEXT PRIMARY KEY, holder TEXT NOT NULL,
  acquired_at REAL NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE conversation_generations (source TEXT NOT NULL, session_key TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (source, session_key));
CREATE TRIGGER messages_display_order_insert AFTER INSERT ON messages
  WHEN new.display_order IS NULL
  BEGIN UPDATE messages SET display_order = new.id WHERE id = new.id; END;
"""
_SINGLE_WRITER = """
CREATE TABLE runtime_epoch (singleton INTEGER PRIMARY KEY, epoch INTEGER NOT NULL);
CREATE TABLE session_admissions (seq INTEGER PRIMARY KEY, admission_id TEXT NOT NULL UNIQUE,
  target_session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE RESTRICT, status TEXT);
INSERT INTO runtime_epoch VALUES (1, 1);
INSERT INTO session_admissions (admission_id, target_session_id, status)
  VALUES ('a1', 's_cli', 'terminal');
"""
PROMPT = "You are Hermes."
_HASH = hashlib.sha256(PROMPT.encode()).hexdigest()


def make_newest_file(path: Path, *, single_writer: bool, journal: str = "wal") -> None:
    """Create a file of layout 30 with a session of each kind; its indexes pass integrity checks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute(f"PRAGMA journal_mode={journal}")
    conn.execute("PRAGMA foreign_keys=ON")
    more = {"sessions": _SESSIONS, "messages": _MESSAGES}
    for table, columns in TABLES.items():
        conn.execute(table_ddl(table, (*columns, *more.get(table, ()))))
    for name in INDEXES:
        conn.execute(index_ddl(name))
    conn.executescript(_MORE_TABLES + "".join(_full_text()))
    conn.execute("INSERT INTO schema_version VALUES (30)")
    conn.execute("INSERT INTO state_meta VALUES ('fts_storage_version', '3')")
    conn.execute("INSERT INTO system_prompts VALUES (?, ?)", (_HASH, PROMPT))
    _fill(conn)
    if single_writer:
        become_single_writer(conn)
    for table in ("messages_fts", "messages_fts_trigram"):
        conn.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    conn.close()


def become_single_writer(conn: sqlite3.Connection) -> None:
    """Set the marks that Hermes' own gateway sets when it becomes the only writer."""
    conn.executescript(_SINGLE_WRITER)


def _fill(conn: sqlite3.Connection) -> None:
    def session(name: str, *texts: str, **columns: object) -> None:
        times = {"started_at": NOW, "message_count": len(texts), "profile_name": "default"}
        add_session(conn, name, **{"system_prompt_hash": _HASH, **times, **columns})
        for text in texts:
            add_message(conn, name, content=text, timestamp=NOW)

    session("s_cli", "hello zebra", title="Plain chat", last_activity_at=NOW + 60)
    calls = json.dumps([{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}}])
    add_message(conn, "s_cli", role="assistant", content="hi", tool_calls=calls, timestamp=NOW)
    add_message(conn, "s_cli", role="tool", content="giraffe", tool_call_id="c1", timestamp=NOW)
    old = {"started_at": NOW - 2e7, "ended_at": NOW - 2e7, "end_reason": "agent_close"}
    session("s_pin", "keep me", title="Pinned", pinned=1, **old)
    session("s_old", "long ago", title="Old", **old)
    session("s_hid", "in the bot room", title="Bot Chat", hidden=1, source="api_server")
    session("s_unread", "new one", title="Unread", source="telegram", last_read_at=0)
    session("s_root", "start of it", title="Long", ended_at=NOW + 1, end_reason="compression")
    session("s_tip", parent_session_id="s_root", started_at=NOW + 2, message_count=2)
    add_message(
        conn,
        "s_tip",
        content="[a summary]",
        timestamp=NOW + 2,
        display_kind="hidden",
        _compressed_summary=1,
    )
    add_message(conn, "s_tip", content="go on", timestamp=NOW + 3)
    session("s_sub", "quagga", source="subagent", parent_session_id="s_cli",
            model_config=json.dumps({"_delegate_from": "s_cli"}))  # fmt: skip
    session("s_arch", "away", title="Archived", archived=1)


def _full_text() -> Iterator[str]:
    """Yield two indexes over views; the second omits tools and subagents."""
    shortened = (
        "CASE WHEN {r}.role = 'tool' THEN substr(coalesce({r}.content, ''), 1, 8192) "
        "ELSE coalesce({r}.content, '') END"
    )
    words = f"{shortened}, coalesce({{r}}.tool_name, ''), coalesce({{r}}.tool_calls, '')"
    parts = "coalesce({r}.content, ''), coalesce({r}.tool_name, '')"
    kept = (
        "{r}.role <> 'tool' AND EXISTS (SELECT 1 FROM sessions AS s "
        "WHERE s.id = {r}.session_id AND s.source NOT IN ('cron', 'subagent') "
        "AND CASE WHEN json_valid(s.model_config) "
        "THEN json_extract(s.model_config, '$._delegate_from') END IS NULL)"
    )
    wide, narrow = ("content", "tool_name", "tool_calls"), ("content", "tool_name")
    yield from _index("messages_fts", wide, words, "1", "")
    yield from _index("messages_fts_trigram", narrow, parts, kept, ", tokenize='trigram'")


def _index(
    table: str, columns: tuple[str, ...], values: str, kept: str, options: str
) -> Iterator[str]:
    names = ", ".join(columns)
    named = ", ".join(
        f"{value} AS {name}" for value, name in zip(_split(values), columns, strict=True)
    )
    yield (
        f"CREATE VIEW {table}_src AS SELECT m.id AS id, {named.format(r='m')} FROM messages AS m "
        f"WHERE {kept.format(r='m')};"
        f"CREATE VIRTUAL TABLE {table} USING fts5({names}, content='{table}_src', "
        f"content_rowid='id'{options});"
    )

    def put(row: str) -> str:
        return (
            f"INSERT INTO {table} (rowid, {names}) SELECT {row}.id, {values.format(r=row)} "
            f"WHERE {kept.format(r=row)};"
        )

    def take(row: str) -> str:
        return (
            f"INSERT INTO {table} ({table}, rowid, {names}) SELECT 'delete', {row}.id, "
            f"{values.format(r=row)} WHERE {kept.format(r=row)};"
        )

    bodies = {"insert": put("new"), "delete": take("old"), "update": take("old") + put("new")}
    for event, body in bodies.items():
        when = "UPDATE OF content, role, tool_name, tool_calls" if event == "update" else event
        yield f"CREATE TRIGGER {table}_{event} AFTER {when} ON messages BEGIN {body} END;"


def _split(values: str) -> list[str]:
    """Split a list of expressions at commas outside of parentheses."""
    parts, depth, part = [], 0, ""
    for sign in values:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += sign
    return [*parts, part.strip()]


def bytes_of(path: Path) -> tuple[bytes, bytes]:
    """Return the bytes of a store and of its log; no log is the same as an empty one."""
    log = Path(f"{path}-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else b""


@contextlib.contextmanager
def answering_socket(home: Path, answer: object, *, path: Path | None = None) -> Iterator[None]:
    """Run a gateway that answers each request on the control socket of a home with one line.

    Args:
        home: The home.
        answer: The description of itself; bytes are sent as they are, None sends nothing.
        path: The path of the socket, if it is not in the home.
    """
    place = path or home / "gateway.sock"
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(place))
    server.listen(8)
    open_ends: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            open_ends.append(peer)
            request = json.loads(peer.makefile("rb").readline())
            assert (request["protocol"], request["verb"]) == (1, "identify")
            if answer is None:
                continue
            said = {"ok": True, "protocol": 1, "id": request["id"], "result": answer}
            peer.sendall(answer if isinstance(answer, bytes) else json.dumps(said).encode() + b"\n")
            peer.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(60)
        for peer in open_ends:
            peer.close()
        with contextlib.suppress(OSError):
            os.unlink(place)  # noqa: PTH108
