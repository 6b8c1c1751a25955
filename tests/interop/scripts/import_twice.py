"""Imports sessions with the real SessionDB, call by call from a file. Run with its interpreter."""

import json
import sys
from pathlib import Path

from hermes_state import SessionDB


def main():
    db = SessionDB(Path(sys.argv[1]))
    calls = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    print(json.dumps([getattr(db, name)(*args, **kwargs) for name, args, kwargs in calls]))
    db.close()


main()
