"""Appends as often as it is told on each line, and prints the milliseconds. Run by either program.

python time_appends.py ours|theirs FILE SESSION
"""

import importlib
import json
import sys
import time
from pathlib import Path

MODULES = {"ours": "hermes_desktop.state", "theirs": "hermes_state"}


def main():
    db = importlib.import_module(MODULES[sys.argv[1]]).SessionDB(Path(sys.argv[2]))
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            db.append_message(sys.argv[3], "user", "hello there")
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps(times), flush=True)
    db.close()


main()
