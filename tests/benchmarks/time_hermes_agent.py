"""Times the real SessionDB on a file, in milliseconds. Run with its interpreter; prints JSON."""

import json
import sys
import time
from pathlib import Path

from hermes_state import SessionDB


def median_ms(call, rounds=7):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[rounds // 2]


def main():
    db = SessionDB(Path(sys.argv[1]))
    long_session = sys.argv[2]
    figures = {
        "list by start": median_ms(lambda: db.list_sessions_rich(limit=20, compact_rows=True)),
        "list by activity": median_ms(
            lambda: db.list_sessions_rich(limit=50, order_by_last_active=True, compact_rows=True)
        ),
        "list at depth": median_ms(
            lambda: db.list_sessions_rich(
                limit=50, offset=1000, order_by_last_active=True, compact_rows=True
            )
        ),
        "messages": median_ms(lambda: db.get_messages(long_session), 3),
        "append": median_ms(lambda: db.append_message(long_session, "user", "hello there"), 101),
    }
    print(json.dumps(figures))
    db.close()


main()
