"""Searches of the real SessionDB: FILE, then JSON of keyword arguments each; prints the rows."""

import json
import sys
from pathlib import Path

from hermes_state import SessionDB

db = SessionDB(Path(sys.argv[1]))
print(json.dumps([db.search_messages(**json.loads(text)) for text in sys.argv[2:]]))
db.close()
