"""Appends numbered messages to one session with the real SessionDB, as fast as it can."""

import sys
from pathlib import Path

from hermes_state import SessionDB


def main():
    path, session_id, label, count = sys.argv[1:]
    db = SessionDB(Path(path))
    for number in range(int(count)):
        calls = [{"id": str(number)}] if number % 4 == 0 else None
        db.append_message(session_id, "assistant", f"{label} {number}", tool_calls=calls)
    db.close()
    print("{}")


main()
