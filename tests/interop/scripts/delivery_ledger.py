"""What the real gateway's outbox does: ``owe KEY MESSAGE TEXT [STATE]``, ``sweep``, ``columns``,
``dead PLATFORM CHAT``, ``mark PLATFORM CHAT``. Prints JSON.
"""

import json
import sqlite3
import sys

from gateway import dead_targets, delivery_ledger
from hermes_state import SessionDB

words = sys.argv[1:]
SessionDB().close()
if words[0] == "owe":
    name = delivery_ledger.compute_obligation_id(*words[1:4])
    delivery_ledger.record_obligation(
        obligation_id=name,
        session_key=words[1],
        platform="telegram",
        chat_id="c1",
        thread_id=None,
        content=words[3],
    )
    if words[4:] == ["attempting"]:
        delivery_ledger.mark_attempting(name)
    print(json.dumps(name))
elif words[0] == "sweep":
    print(json.dumps(delivery_ledger.sweep_recoverable(deliverable_platforms={"telegram"})))
elif words[0] == "columns":
    with sqlite3.connect(delivery_ledger._db_path()) as conn:
        rows = conn.execute("PRAGMA table_info(delivery_obligations)").fetchall()
    print(json.dumps([list(row) for row in rows]))
elif words[0] == "dead":
    print(json.dumps(dead_targets.DeadTargetRegistry().is_dead(*words[1:3])))
elif words[0] == "mark":
    print(json.dumps(dead_targets.DeadTargetRegistry().mark_dead(*words[1:3], "forbidden")))
