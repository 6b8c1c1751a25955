"""A program that writes into sessions of a home while a gateway runs, with either SessionDB.

    python soak_writer.py STATE_DB

Reads lines ``{"session": …, "role": …, "content": …}`` and answers each with a line once the
message is stored: ``{"stored": true}``, or false if that failed.
"""

import json
import sys
from pathlib import Path

try:
    from hermes_state import SessionDB
except ImportError:
    from hermes_desktop.state import SessionDB


def main() -> None:
    db = SessionDB(Path(sys.argv[1]))
    for line in sys.stdin:
        wanted = json.loads(line)
        try:
            db.append_message(wanted["session"], wanted["role"], content=wanted["content"])
        except Exception as error:
            print(json.dumps({"stored": False, "why": repr(error)}), flush=True)
        else:
            print(json.dumps({"stored": True}), flush=True)
    db.close()


if __name__ == "__main__":
    main()
