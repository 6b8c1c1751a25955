"""Gives the real SessionDB the token counts of a test. Run with its interpreter."""

import json
import sys
from pathlib import Path

from hermes_state import SessionDB


def main():
    db = SessionDB(Path(sys.argv[1]))
    db.create_session("s", "cli", model="planned")
    for session_id in ("s", "unknown one"):
        for call in json.loads(sys.argv[2]):
            db.update_token_counts(session_id, **call)
    db.close()
    print("{}")


main()
