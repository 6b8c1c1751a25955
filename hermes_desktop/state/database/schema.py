"""Schema 22 of state.db as data, and how a file of another version differs from it.

Nothing here opens a file. The statements are built from the definitions below, so that the same
definitions serve for creating a new file, for checking one and for reading one of another version.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SCHEMA_VERSION = 22


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        rule: What follows the type: constraint and default, in SQL.
        since: First schema version that has it.
    """

    name: str
    kind: str
    rule: str = ""
    since: int = 11

    @property
    def default(self) -> str:
        """The SQL value to read where a file lacks the column."""
        found = re.search(r"DEFAULT (\S+)", self.rule)
        return found.group(1) if found else "NULL"


def _columns(kind: str, names: str, rule: str = "", since: int = 11) -> tuple[Column, ...]:
    return tuple(Column(name, kind, rule, since) for name in names.split())


_ZERO = "DEFAULT 0"
_COUNT = "NOT NULL DEFAULT 0"

SESSIONS: tuple[Column, ...] = (
    Column("id", "TEXT", "PRIMARY KEY"),
    Column("source", "TEXT", "NOT NULL"),
    Column("user_id", "TEXT"),
    *_columns("TEXT", "session_key chat_id chat_type thread_id", since=17),
    *_columns("TEXT", "display_name origin_json", since=19),
    Column("expiry_finalized", "INTEGER", _ZERO, 19),
    *_columns("TEXT", "model model_config system_prompt"),
    Column("parent_session_id", "TEXT", "REFERENCES sessions(id)"),
    Column("started_at", "REAL", "NOT NULL"),
    Column("ended_at", "REAL"),
    Column("end_reason", "TEXT"),
    *_columns("INTEGER", "message_count tool_call_count", _ZERO),
    *_columns("INTEGER", "input_tokens output_tokens cache_read_tokens cache_write_tokens", _ZERO),
    Column("reasoning_tokens", "INTEGER", _ZERO),
    Column("cwd", "TEXT", since=14),
    *_columns("TEXT", "git_branch git_repo_root", since=17),
    *_columns("TEXT", "billing_provider billing_base_url billing_mode"),
    *_columns("REAL", "estimated_cost_usd actual_cost_usd"),
    *_columns("TEXT", "cost_status cost_source pricing_version title"),
    Column("api_call_count", "INTEGER", _ZERO),
    *_columns("TEXT", "handoff_state handoff_platform handoff_error"),
    Column("compression_failure_cooldown_until", "REAL", since=17),
    Column("compression_failure_error", "TEXT", since=17),
    Column("compression_fallback_streak", "INTEGER", _COUNT, 22),
    Column("profile_name", "TEXT", since=22),
    *_columns("INTEGER", "rewind_count archived", _COUNT, 14),
)

MESSAGES: tuple[Column, ...] = (
    Column("id", "INTEGER", "PRIMARY KEY AUTOINCREMENT"),
    Column("session_id", "TEXT", "NOT NULL REFERENCES sessions(id)"),
    Column("role", "TEXT", "NOT NULL"),
    *_columns("TEXT", "content tool_call_id tool_calls tool_name"),
    Column("effect_disposition", "TEXT", since=22),
    Column("timestamp", "REAL", "NOT NULL"),
    Column("token_count", "INTEGER"),
    *_columns("TEXT", "finish_reason reasoning reasoning_content reasoning_details"),
    *_columns("TEXT", "codex_reasoning_items codex_message_items"),
    Column("platform_message_id", "TEXT", since=13),
    Column("observed", "INTEGER", _ZERO, 13),
    Column("active", "INTEGER", "NOT NULL DEFAULT 1", 14),
    Column("compacted", "INTEGER", _COUNT, 17),
    Column("api_content", "TEXT", since=22),
)

USAGE: tuple[Column, ...] = (
    Column("session_id", "TEXT", "NOT NULL REFERENCES sessions(id) ON DELETE CASCADE", 22),
    Column("model", "TEXT", "NOT NULL", 22),
    *_columns(
        "TEXT",
        "billing_provider billing_base_url billing_mode task",
        "NOT NULL DEFAULT ''",
        since=22,
    ),
    *_columns("INTEGER", "api_call_count input_tokens output_tokens", _COUNT, 22),
    *_columns("INTEGER", "cache_read_tokens cache_write_tokens reasoning_tokens", _COUNT, 22),
    *_columns("REAL", "estimated_cost_usd actual_cost_usd", _COUNT, 22),
    *_columns("TEXT", "cost_status cost_source", since=22),
    *_columns("REAL", "first_seen last_seen", since=22),
)

TABLES: Mapping[str, tuple[Column, ...]] = {
    "schema_version": (Column("version", "INTEGER", "NOT NULL"),),
    "sessions": SESSIONS,
    "messages": MESSAGES,
    "session_model_usage": USAGE,
    "state_meta": (Column("key", "TEXT", "PRIMARY KEY"), Column("value", "TEXT")),
    "gateway_routing": (
        Column("scope", "TEXT", "NOT NULL DEFAULT ''", 19),
        Column("session_key", "TEXT", "NOT NULL", 19),
        Column("entry_json", "TEXT", "NOT NULL", 19),
        Column("updated_at", "REAL", "NOT NULL", 19),
    ),
    "compression_locks": (
        Column("session_id", "TEXT", "PRIMARY KEY", 14),
        Column("holder", "TEXT", "NOT NULL", 14),
        *_columns("REAL", "acquired_at expires_at", "NOT NULL", 14),
    ),
    "async_delegations": (
        Column("delegation_id", "TEXT", "PRIMARY KEY", 22),
        Column("origin_session", "TEXT", "NOT NULL", 22),
        Column("origin_ui_session_id", "TEXT", "NOT NULL DEFAULT ''", 22),
        Column("parent_session_id", "TEXT", since=22),
        Column("state", "TEXT", "NOT NULL", 22),
        Column("dispatched_at", "REAL", "NOT NULL", 22),
        Column("completed_at", "REAL", since=22),
        Column("updated_at", "REAL", "NOT NULL", 22),
        *_columns("TEXT", "event_json result_json", since=22),
        Column("delivery_state", "TEXT", "NOT NULL DEFAULT 'pending'", 22),
        Column("delivery_attempts", "INTEGER", _COUNT, 22),
        Column("delivered_at", "REAL", since=22),
        *_columns("INTEGER", "owner_pid owner_started_at", since=22),
        *_columns("TEXT", "task_json delivery_claim", since=22),
        Column("delivery_claimed_at", "REAL", since=22),
    ),
}

COMPOUND_KEYS: Mapping[str, tuple[str, ...]] = {
    "session_model_usage": (
        "session_id",
        "model",
        "billing_provider",
        "billing_base_url",
        "billing_mode",
        "task",
    ),
    "gateway_routing": ("scope", "session_key"),
}

INDEXES: Mapping[str, tuple[str, str]] = {
    "idx_sessions_source": ("sessions", "(source)"),
    "idx_sessions_source_id": ("sessions", "(source, id)"),
    "idx_sessions_parent": ("sessions", "(parent_session_id)"),
    "idx_sessions_started": ("sessions", "(started_at DESC)"),
    "idx_sessions_title_unique": ("sessions", "(title) WHERE title IS NOT NULL"),
    "idx_sessions_session_key": ("sessions", "(session_key, started_at DESC)"),
    "idx_sessions_gateway_peer": (
        "sessions",
        "(source, user_id, chat_id, chat_type, thread_id, started_at DESC)",
    ),
    "idx_sessions_handoff_state": ("sessions", "(handoff_state, started_at)"),
    "idx_messages_session": ("messages", "(session_id, timestamp)"),
    "idx_messages_session_active": ("messages", "(session_id, active, timestamp)"),
    "idx_messages_active_null": ("messages", "(active) WHERE active IS NULL"),
    "idx_messages_platform_msg_id": (
        "messages",
        "(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL",
    ),
    "idx_compression_locks_expires": ("compression_locks", "(expires_at)"),
    "idx_session_model_usage_session": ("session_model_usage", "(session_id)"),
    "idx_session_model_usage_model": ("session_model_usage", "(model)"),
    "idx_async_delegations_delivery": ("async_delegations", "(delivery_state, completed_at)"),
}

FULL_TEXT: Mapping[str, str] = {
    "messages_fts": "content",
    "messages_fts_trigram": "content, tokenize = 'trigram'",
}


def indexed_text_sql(row: str) -> str:
    """Return an SQL expression for the text of a message that an inline search index contains."""
    return " || ' ' || ".join(
        f"coalesce({row}.{name}, '')" for name in ("content", "tool_name", "tool_calls")
    )


def table_ddl(table: str, columns: tuple[Column, ...]) -> str:
    """Return the statement that creates one table."""
    lines = [f"{column.name} {column.kind} {column.rule}".strip() for column in columns]
    if table in COMPOUND_KEYS:
        lines.append(f"PRIMARY KEY ({', '.join(COMPOUND_KEYS[table])})")
    return f"CREATE TABLE {table} ({', '.join(lines)})"


def index_ddl(name: str) -> str:
    """Return the statement that creates one index."""
    table, rest = INDEXES[name]
    unique = "UNIQUE " if name.endswith("_unique") else ""
    return f"CREATE {unique}INDEX {name} ON {table} {rest}"


def full_text_ddl() -> Iterator[str]:
    """Yield the statements for the two full-text tables and the six triggers that fill them."""
    for table, options in FULL_TEXT.items():
        add = f"INSERT INTO {table} (rowid, content) VALUES (new.id, {indexed_text_sql('new')});"
        remove = f"DELETE FROM {table} WHERE rowid = old.id;"
        yield f"CREATE VIRTUAL TABLE {table} USING fts5({options})"
        for event, body in (("insert", add), ("delete", remove), ("update", f"{remove} {add}")):
            yield (
                f"CREATE TRIGGER {table}_{event} AFTER {event.upper()} ON messages BEGIN {body} END"
            )


def new_file_ddl() -> Iterator[str]:
    """Yield all statements for a new file, in order, the version row last."""
    for table, columns in TABLES.items():
        yield table_ddl(table, columns)
    for name in INDEXES:
        yield index_ddl(name)
    yield from full_text_ddl()
    yield f"INSERT INTO schema_version (version) VALUES ({SCHEMA_VERSION})"


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The actual schema of one file.

    Attributes:
        version: The stored number, None when there is no row.
        columns: Names of columns by table; only tables that exist.
        objects: Names of all tables, indexes and triggers.
        usage_key: Columns of the usage table's primary key.
        full_text_sql: The statement that created ``messages_fts``, "" without it.
        prompt_column: The column in which later versions store the text of a system prompt that
            sessions refer to by hash; "" where there is none.
    """

    version: int | None
    columns: Mapping[str, frozenset[str]]
    objects: frozenset[str]
    usage_key: frozenset[str] = frozenset()
    full_text_sql: str = ""
    prompt_column: str = ""

    def missing(self, table: str) -> tuple[Column, ...]:
        """Return the columns of schema 22 that this table lacks."""
        present = self.columns.get(table, frozenset())
        return tuple(column for column in TABLES[table] if column.name not in present)

    @property
    def is_empty(self) -> bool:
        """Whether no table was ever created in it."""
        return not self.objects

    @property
    def is_ours(self) -> bool:
        """Whether it contains conversations at all."""
        least = {"sessions": {"id", "source", "started_at"}}
        least["messages"] = {"id", "session_id", "role", "content", "timestamp"}
        return all(names <= self.columns.get(table, set()) for table, names in least.items())

    @property
    def lacks(self) -> tuple[str, ...]:
        """Names of the parts that version 22 requires and this file lacks."""
        names = (f"{table}.{column.name}" for table in TABLES for column in self.missing(table))
        return (*names, *self.lacks_full_text)

    @property
    def lacks_full_text(self) -> tuple[str, ...]:
        """Tables and triggers of the search index that are missing."""
        wanted = (f"{table}_{event}" for table in FULL_TEXT for event in _EVENTS)
        return tuple(name for name in (*FULL_TEXT, *wanted) if name not in self.objects)

    @property
    def has_inline_full_text(self) -> bool:
        """Whether the search index contains its own copy of the text (versions 11 to 22).

        Later ones refer to the messages instead; deleting from such an index damages it.
        """
        return bool(self.full_text_sql) and "tool_name" not in self.full_text_sql

    @property
    def counts_usage(self) -> bool:
        """Whether usage per model may be written.

        Before version 20 the owning program still fills the table from the totals, and rows written
        here would block or double them; before 22 its key may lack the task.
        """
        whole = self.usage_key >= set(COMPOUND_KEYS["session_model_usage"])
        return whole and self.version is not None and self.version >= _FIRST_WITH_USAGE

    @property
    def notes_activity(self) -> bool:
        """Whether sessions store the time of their last activity (later versions)."""
        return "last_activity_at" in self.columns["sessions"]

    @property
    def names_prompts(self) -> bool:
        """Whether sessions refer to their system prompt by a hash (later versions)."""
        return _PROMPT_HASH in self.columns["sessions"]


_EVENTS = ("insert", "delete", "update")
_PROMPT_HASH = "system_prompt_hash"
_PROMPT_NAMES = ("prompt", "content", "text", "system_prompt")
_FIRST_WITH_USAGE = 20


def read_layout(conn: sqlite3.Connection) -> FileLayout:
    """Read the layout of a file's tables; changes nothing.

    Raises:
        sqlite3.Error: The file is not a database, or is damaged or locked.
    """
    found = conn.execute("SELECT name, type, sql FROM main.sqlite_master").fetchall()
    objects = {str(row[0]): str(row[1]) for row in found}
    full_text = next((str(row[2]) for row in found if row[0] == "messages_fts"), "")
    columns = {
        table: frozenset(str(row[1]) for row in conn.execute(f'PRAGMA main.table_info("{table}")'))
        for table in TABLES
        if objects.get(table) == "table"
    }
    usage = conn.execute("PRAGMA main.table_info(session_model_usage)")
    key = frozenset(str(row[1]) for row in usage if row[5])
    prompt = ""
    if _PROMPT_HASH in columns.get("sessions", ()):
        prompt = _prompt_column(conn)
    return FileLayout(_stored_version(conn), columns, frozenset(objects), key, full_text, prompt)


def _prompt_column(conn: sqlite3.Connection) -> str:
    """Return the one column of the table of prompts that contains text and is not the hash."""
    found = conn.execute("PRAGMA main.table_info(system_prompts)").fetchall()
    names = [str(row[1]) for row in found]
    texts = [str(row[1]) for row in found if row[2].upper() == "TEXT" and row[1] != "hash"]
    likely = [name for name in texts if name in _PROMPT_NAMES] or texts
    return likely[0] if "hash" in names and likely else ""


def schema_state(conn: sqlite3.Connection) -> tuple[int, int | None]:
    """Return SQLite's schema change counter and the stored version; they change on a migration."""
    return table_changes(conn), _stored_version(conn)


def table_changes(conn: sqlite3.Connection) -> int:
    """Return SQLite's own counter of schema changes; it differs after each change."""
    return int(conn.execute("PRAGMA main.schema_version").fetchone()[0])


def _stored_version(conn: sqlite3.Connection) -> int | None:
    try:
        row = conn.execute("SELECT max(version) FROM main.schema_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such" in str(error):  # table or column
            return None
        raise
    return row[0] if isinstance(row[0], int) else None


def reading_views(layout: FileLayout) -> Iterator[str]:
    """Yield temporary views that let statements for schema 22 read a file that lacks columns.

    A temporary view hides the table of the same name on its own connection only; the file is not
    modified.
    """
    for table, columns in TABLES.items():
        missing = layout.missing(table)
        extra = ", ".join(f"{column.default} AS {column.name}" for column in missing)
        if missing == columns:
            yield f"CREATE TEMP VIEW {table} AS SELECT {extra} WHERE 0"
        elif missing:
            yield f"CREATE TEMP VIEW {table} AS SELECT t.*, {extra} FROM main.{table} AS t"
        elif table == "sessions" and layout.prompt_column:
            yield _view_with_prompts(layout)


def _view_with_prompts(layout: FileLayout) -> str:
    """Return a view of sessions with the text of their prompts, which the file stores once each."""
    text = layout.prompt_column.replace('"', '""')
    named = (
        f'coalesce(t.system_prompt, (SELECT p."{text}" FROM main.system_prompts AS p '
        f"WHERE p.hash = t.{_PROMPT_HASH})) AS system_prompt"
    )
    columns = (
        named if name == "system_prompt" else f't."{name.replace(chr(34), chr(34) * 2)}"'
        for name in sorted(layout.columns["sessions"])
    )
    return f"CREATE TEMP VIEW sessions AS SELECT {', '.join(columns)} FROM main.sessions AS t"
