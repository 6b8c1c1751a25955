"""Prints which sessions lists and titles of the real program lead to; says something if asked to.

python looks_for_sessions.py FILE TITLE [SESSION TEXT]
"""

import json
import sys
from pathlib import Path

from hermes_state import SessionDB


def main():
    db = SessionDB(Path(sys.argv[1]))
    if len(sys.argv) > 3:
        db.append_message(sys.argv[3], "user", sys.argv[4])
    lists = (
        db.list_sessions_rich(limit=50),
        db.list_sessions_rich(limit=50, order_by_last_active=True, include_archived=True),
        db.search_sessions(source="cli", limit=50),
    )
    found = {row["id"] for rows in lists for row in rows}
    found.add(db.resolve_session_by_title(sys.argv[2]))
    print(json.dumps(sorted(each for each in found if each)))
    db.close()


main()
