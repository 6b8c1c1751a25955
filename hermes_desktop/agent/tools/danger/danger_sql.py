"""Assessment of the statements passed to database programs. Pure."""

import re
from collections.abc import Set as AbstractSet

_LOSS = re.compile(
    r"\b(drop\s+(table|database|schema|index|view|user|role|collection)|truncate\s+(table\s+)?\w"
    r"|delete\s+from\s+[\w.\"`]+\s*(;|\"|'|$)|delete\s+from\s+(?!.*\bwhere\b)"
    r"|update\s+[\w.\"`]+\s+set\s+(?!.*\bwhere\b)|alter\s+table\s+.*\bdrop\b|grant\s+all"
    r"|dropdatabase|flushall|flushdb|deletemany\(\{\}\))",
    re.IGNORECASE | re.DOTALL,
)
_RUNS = re.compile(
    r"(^|[\s'\"])\.(shell|system|load|excel)\b|\\!|\bprogram\s{1,8}['\"]|\\[og]\s{0,8}\|"
    r"|(^|['\";])\s{0,8}(system|pager)\s{1,8}\S|load_extension",
    re.IGNORECASE | re.MULTILINE,
)
_CLIENTS = frozenset(
    {
        "psql",
        "mysql",
        "mariadb",
        "sqlite3",
        "mongo",
        "mongosh",
        "redis-cli",
        "sqlcmd",
        "clickhouse-client",
        "duckdb",
    }
)


def loses_data(programs: AbstractSet[str], text: str) -> bool:
    """Return whether one of these programs may be told to delete data."""
    return bool(programs & _CLIENTS) and _LOSS.search(text) is not None


def runs_programs(programs: AbstractSet[str], text: str) -> bool:
    """Return whether one of these programs may be told to run other programs."""
    return bool(programs & _CLIENTS) and _RUNS.search(text) is not None
