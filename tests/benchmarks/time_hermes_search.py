"""Times the searches of the real SessionDB on a file, in milliseconds. Prints JSON.

Run with its interpreter: FILE, then pairs of a query and an order ("-" for its own).
"""

import json
import sys
import time
from pathlib import Path

from hermes_state import SessionDB


def main():
    db = SessionDB(Path(sys.argv[1]))
    figures = {}
    for query, order in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            found = db.search_messages(query, sort=None if order == "-" else order, limit=50)
            times.append((time.perf_counter() - start) * 1e3)
            if times[-1] > 1_000:
                break
        figures[f"{query} {order}"] = {"ms": sorted(times)[len(times) // 2], "hits": len(found)}
    print(json.dumps(figures))
    db.close()


main()
