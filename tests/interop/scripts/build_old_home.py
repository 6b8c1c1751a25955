"""Fills a file with what every release of SessionDB can do. Run with the interpreter of one."""

import json
import sys
from pathlib import Path

from hermes_state import SCHEMA_VERSION, SessionDB


def main():
    db = SessionDB(Path(sys.argv[1]))
    for name, source, parent, title in (
        ("20250101_000001_aaaaaa", "cli", None, "Zebra facts"),
        ("20250101_000002_aaaaaa", "cli", "20250101_000001_aaaaaa", "Zebra facts #2"),
        ("20250101_000003_aaaaaa", "telegram", None, None),
    ):
        db.create_session(name, source, model="m", parent_session_id=parent)
        db.append_message(name, "user", f"tell me of the zebra {name}")
        calls = [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}]
        db.append_message(name, "assistant", "", tool_calls=calls, reasoning="hm")
        db.append_message(name, "tool", '{"output": "ok"}', tool_call_id="c", tool_name="t")
        db.append_message(name, "assistant", "it has stripes, 旅行の話", finish_reason="stop")
        if title:
            db.set_session_title(name, title)
        if name.endswith("1_aaaaaa"):
            db.end_session(name, "compression")
    db.update_token_counts("20250101_000003_aaaaaa", 10, 5, model="m", billing_provider="p")
    db.close()
    print(json.dumps(SCHEMA_VERSION))


main()
