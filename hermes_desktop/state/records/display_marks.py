"""Messages that later versions keep from being shown: SQL that works with every version's tables.

Their columns are looked up in a subquery. Where a file lacks one, SQLite takes the column of that
name from the enclosing query instead, and that one says that nothing is kept back.
"""

_SUMMARY = "[CONTEXT COMPACTION"
"""How both programs begin a summary that stands for earlier messages."""


def is_shown_sql(alias: str) -> str:
    """SQL: may this message be shown to a person?"""
    return _unless("display_kind IS 'hidden'", alias)


def is_said_sql(alias: str) -> str:
    """SQL: may it be shown, and did somebody say it, so that it can stand for its session?"""
    summary = f"coalesce({alias}.content, '') LIKE '{_SUMMARY}%'"
    return f"NOT {summary} AND " + _unless(
        "display_kind IS 'hidden' OR _compressed_summary IS 1", alias
    )


def _unless(marked: str, alias: str) -> str:
    return (
        "NOT EXISTS (SELECT 1 FROM (SELECT NULL AS display_kind, 0 AS _compressed_summary) AS none "
        f"WHERE (SELECT {marked} FROM main.messages AS own WHERE own.id = {alias}.id))"
    )
