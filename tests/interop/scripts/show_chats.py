"""What the real gateway knows of the chats of its home. Prints JSON: key → facts."""

import json
import logging
import os
from pathlib import Path


def main():
    logging.disable(logging.CRITICAL)
    from gateway.config import GatewayConfig
    from gateway.session import SessionStore

    store = SessionStore(Path(os.environ["HERMES_HOME"]) / "sessions", GatewayConfig())
    store._ensure_loaded()
    names = ("session_id", "resume_pending", "resume_reason", "suspended", "expiry_finalized")
    print(
        json.dumps(
            {
                key: {name: getattr(entry, name) for name in names}
                for key, entry in store._entries.items()
            }
        )
    )


if __name__ == "__main__":
    main()
