"""Prints what a release of SessionDB sees in a file, and may append. Run with its interpreter."""

import json
import sys
from pathlib import Path

from hermes_state import SessionDB

LINE = ("id", "source", "title", "preview", "message_count", "started_at", "last_active")


def main():
    db = SessionDB(Path(sys.argv[1]))
    for session_id in sys.argv[2:]:
        db.append_message(session_id, "user", "appended zebra")
    lines = db.list_sessions_rich(limit=100)
    answers = {
        "lines": [[line[name] for name in LINE] for line in lines],
        "titles": {
            title: [db.resolve_session_by_title(title), db.get_next_title_in_lineage(title)]
            for title in ("Zebra facts", "Zebra facts #2", "Ours", "Nothing")
        },
        "export": {row["id"]: row for row in db.export_all()},
        "found": sorted({hit["id"] for hit in db.search_messages("zebra", limit=100)}),
    }
    db.close()
    print(json.dumps(answers))


main()
