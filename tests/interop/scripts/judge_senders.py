"""Whom the real gateway lets in. Argument: cases as JSON. Prints [allowed, treatment] for each."""

import json
import logging
import os
import sys
from pathlib import Path


def main():
    logging.disable(logging.CRITICAL)
    from gateway.config import GatewayConfig, Platform, PlatformConfig
    from gateway.pairing import PairingStore
    from gateway.run import GatewayRunner
    from gateway.session import SessionSource

    answers = []
    before = dict(os.environ)
    for number, case in enumerate(json.loads(sys.argv[1])):
        os.environ.clear()
        os.environ.update(before | case["variables"])
        fields = {"platform": "telegram", "chat_id": "c", **case["source"]}
        platform = Platform(fields.pop("platform"))
        runner = object.__new__(GatewayRunner)
        settings = PlatformConfig(enabled=True, extra=case["extra"])
        runner.config = GatewayConfig(platforms={platform: settings})
        runner.adapters = {}
        runner.pairing_store = PairingStore()
        for user_id in case["paired"]:
            name = f"{platform.value}-approved.json"
            record = {user_id: {"user_name": "", "approved_at": number}}
            folder = Path(os.environ["HERMES_HOME"]) / "platforms" / "pairing"
            (folder / name).write_text(json.dumps(record))
        allowed = runner._is_user_authorized(SessionSource(platform=platform, **fields))
        for user_id in case["paired"]:
            runner.pairing_store.revoke(platform.value, user_id)
        answers.append([allowed, runner._get_unauthorized_dm_behavior(platform)])
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
