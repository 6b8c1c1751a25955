"""Takes the chats of a home through a list of calls and prints what became of them.

Run with hermes-agent's interpreter. Arguments: the sessions folder, the calls as JSON. A call is
the name of a method of its session store and the arguments; a mapping with "platform" among them
stands for a message's source, "config" holds a configuration to use.
"""

import json
import sys
from pathlib import Path

from gateway.config import GatewayConfig
from gateway.session import SessionSource, SessionStore


def argument(value):
    is_source = isinstance(value, dict) and "platform" in value
    return SessionSource.from_dict(value) if is_source else value


def shown(value):
    if isinstance(value, list):
        return [shown(each) for each in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def main():
    folder, calls, config = sys.argv[1:]
    store = SessionStore(Path(folder), GatewayConfig.from_dict(json.loads(config)))
    answers = [
        shown(getattr(store, name)(*map(argument, args))) for name, args in json.loads(calls)
    ]
    store._ensure_loaded()
    entries = {key: shown(entry) for key, entry in store._entries.items()}
    print(json.dumps({"answers": answers, "entries": entries}))


if __name__ == "__main__":
    main()
