"""SQL conditions for messages that later versions hide; they work with every version's tables.

The columns of later versions are looked up in a subquery. Where a file lacks one, SQLite resolves
the name to the enclosing query's column, whose value means that nothing is hidden.
"""

_SUMMARY = "[CONTEXT COMPACTION"
"""Beginning of a summary that replaces earlier messages, as written by both programs."""


def is_shown_sql(alias: str) -> str:
    """Return an SQL condition: the message may be shown to the user."""
    return _unless("display_kind IS 'hidden'", alias)


def is_dialog_sql(alias: str) -> str:
    """Return an SQL condition: the message may be shown, and is no summary but part of the dialog.

    Only such a message may represent its session.
    """
    summary = f"coalesce({alias}.content, '') LIKE '{_SUMMARY}%'"
    return f"NOT {summary} AND " + _unless(
        "display_kind IS 'hidden' OR _compressed_summary IS 1", alias
    )


def _unless(marked: str, alias: str) -> str:
    return (
        "NOT EXISTS (SELECT 1 FROM (SELECT NULL AS display_kind, 0 AS _compressed_summary) AS none "
        f"WHERE (SELECT {marked} FROM main.messages AS own WHERE own.id = {alias}.id))"
    )
