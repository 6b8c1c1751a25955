"""How much a kanban board of the ``hermes`` command still has to do. Only read."""

import contextlib
import sqlite3
from pathlib import Path

from hermes_desktop.state.database.connection import open_connection

_OPEN = "SELECT count(*) FROM tasks WHERE status NOT IN ('done', 'archived')"

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def open_cards(board: Path) -> int:
    """Count the cards that are neither done nor archived.

    The file appears by itself in every home that had a gateway, so that it alone says nothing.

    Args:
        board: The board's ``kanban.db``.

    Returns:
        Their number; 0 as well for a file that is no board (any more).

    Raises:
        BlockingIOError: Another program is writing to it; try again later.
    """
    try:
        with contextlib.closing(open_connection(board, "ro", wait_s=0.2)) as conn:
            return int(conn.execute(_OPEN).fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in _BUSY:
            raise BlockingIOError(f"{board} is being written to") from error
        return 0
    except (sqlite3.Error, OSError, ValueError):
        return 0
