"""The number of open cards on a kanban board of the ``hermes`` command. Only read."""

import contextlib
import sqlite3
from pathlib import Path

from hermes_desktop.state.database.connection import open_connection

_OPEN = "SELECT count(*) FROM tasks WHERE status NOT IN ('done', 'archived')"

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def open_cards(board: Path) -> int:
    """Count the cards that are neither done nor archived.

    The file is created automatically in every home that had a gateway, so its existence alone means
    nothing.

    Args:
        board: The board's ``kanban.db``.

    Returns:
        Their number; 0 as well for a file that is not a board (any more).

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
