"""What hermes-agent thinks: is a token free (its lock is given back), which lines are gateways."""

import json
import sys

from gateway.status import (
    acquire_scoped_lock,
    looks_like_gateway_command_line,
    release_scoped_lock,
)

asked = json.loads(sys.argv[1])
taken, _ = acquire_scoped_lock("telegram-bot-token", asked.get("token", "none"))
if taken:
    release_scoped_lock("telegram-bot-token", asked.get("token", "none"))
lines = {line: looks_like_gateway_command_line(line) for line in asked.get("lines", [])}
print(json.dumps({"taken": taken, "lines": lines}))
