"""Hold the identity of a home and obey JSON lines; everything that happens is printed as one.

Run with the project's interpreter, the home, and the seconds that our turns take to end; "never"
for a program that does not answer.
"""

import dataclasses
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.identity_supervisor import RESTART_PAUSE_S, GatewayIdentity
from hermes_desktop.gateway.identity.take_over import HomeTakeover
from hermes_desktop.gateway.identity.token_locks import TokenLocks, locks_folder
from hermes_desktop.gateway.runtime_files.identity_events import (
    Claimed,
    IdentityEvent,
    StopRequested,
)

HOME = Path(sys.argv[1])
DRAIN_S = None if sys.argv[2] == "never" else float(sys.argv[2])
PATHS = HermesPaths(HOME, HOME)


def tell(name: str, value: Any) -> None:
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) else {"value": value}  # type: ignore[arg-type]
    kind = type(value).__name__ if dataclasses.is_dataclass(value) else name
    print(json.dumps({"name": kind, **plain}, default=str), flush=True)


def happened(event: IdentityEvent) -> None:
    tell("event", event)
    if isinstance(event, StopRequested) and DRAIN_S is not None:
        threading.Thread(target=finish, args=(event,), daemon=True).start()


def finish(event: StopRequested) -> None:
    time.sleep(DRAIN_S or 0)
    LOCKS.release_all()
    tell("released", identity.release())
    if event.comes_back:
        time.sleep(RESTART_PAUSE_S)
        claim()


def claim() -> None:
    answer = identity.claim()
    if isinstance(answer, Claimed):
        identity.update({"gateway_state": "running", "platforms": CONNECTED})
        LOCKS.acquire("telegram-bot-token", "1:abc", "telegram", answer.record)
    tell("claim", answer)


CONNECTED = {"telegram": {"state": "connected", "error_code": None, "error_message": None}}
LOCKS = TokenLocks(locks_folder(os.environ))
identity = GatewayIdentity(PATHS, events=happened, checks=HostingChecks(Path("/"), ()))
identity.start()
for line in sys.stdin:
    match line.strip():
        case "claim":
            claim()
        case "take over":
            tell("claim", HomeTakeover(PATHS, identity, environ=os.environ).run())
        case "release":
            LOCKS.release_all()
            tell("released", identity.release())
        case "state":
            tell("state", identity.state)
identity.close()
