"""Prints what the real SessionDB answers to the questions of tests/interop. Run with its Python.

With a second argument the questions are put to the class in that module instead: both programs
answer the same ones.
"""

import importlib
import json
import sys
from pathlib import Path

LISTS = {
    "created": {},
    "activity": {"order_by_last_active": True},
    "children": {"include_children": True},
    "with archived": {"include_archived": True},
    "archived": {"archived_only": True},
    "roots": {"project_compression_tips": False},
    "not empty": {"min_message_count": 1},
    "no tools": {"exclude_sources": ["tool"]},
    "telegram": {"source": "telegram"},
    "folder": {"cwd_prefix": "/home/u/"},
    "page": {"limit": 3, "offset": 2},
    "page by activity": {"limit": 3, "offset": 2, "order_by_last_active": True},
    "title": {"search_query": "chain-b", "order_by_last_active": True},
    "bare title": {"search_query": "plainsimple", "order_by_last_active": True},
    "id": {"id_query": "_BBB", "order_by_last_active": True},
}
TITLES = ("Origin", "Origin #2", "Chain b", "chain c", "Plain & simple", "Fresh", "")


def observe(db):
    every = db.search_sessions(limit=1000)
    return {
        "lists": {
            name: db.list_sessions_rich(**{"limit": 1000, **choice})
            for name, choice in LISTS.items()
        },
        "recent": every,
        "counts": [
            db.session_count(),
            db.session_count(exclude_children=True),
            db.session_count(source="cli"),
            db.message_count(),
        ],
        "titles": {
            t: [db.resolve_session_by_title(t), db.get_next_title_in_lineage(t)] for t in TITLES
        },
        "sessions": {row["id"]: about(db, row["id"]) for row in every},
    }


def about(db, name):
    return {
        "row": db.get_session(name),
        "tip": db.get_compression_tip(name),
        "lineage": db.get_compression_lineage(name),
        "root": db.get_conversation_root(name),
        "resume": db.resolve_resume_session_id(name),
        "prefix": db.resolve_session_id(name[:-2]),
        "messages": db.get_messages(name),
        "all messages": db.get_messages(name, include_inactive=True),
        "conversation": db.get_messages_as_conversation(name),
        "with ancestors": db.get_messages_as_conversation(name, include_ancestors=True),
    }


def main():
    module = importlib.import_module(sys.argv[2] if len(sys.argv) > 2 else "hermes_state")
    db = module.SessionDB(Path(sys.argv[1]))
    print(json.dumps(observe(db)))
    db.close()


if __name__ == "__main__":
    main()
