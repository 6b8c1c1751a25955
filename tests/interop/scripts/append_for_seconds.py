"""Appends to one session for some seconds with the SessionDB of either program.

Arguments: module of SessionDB, database, session id, label, seconds. Prints how many messages it
wrote and the longest time that one of them had to wait.
"""

import importlib
import json
import sys
import time
from pathlib import Path


def main():
    module, path, session_id, label, seconds = sys.argv[1:]
    db = importlib.import_module(module).SessionDB(Path(path))
    end = time.monotonic() + float(seconds)
    written, longest = 0, 0.0
    while time.monotonic() < end:
        begin = time.monotonic()
        calls = [{"id": str(written)}] if written % 4 == 0 else None
        db.append_message(session_id, "assistant", f"{label} {written}", tool_calls=calls)
        longest = max(longest, time.monotonic() - begin)
        written += 1
    db.close()
    print(json.dumps({"label": label, "written": written, "longest_s": longest}))


main()
