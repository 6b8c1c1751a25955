"""Ask, again and again for some seconds, whether a gateway runs: as status commands do."""

import json
import sys
import time

from gateway.status import get_running_pid

until = time.monotonic() + float(sys.argv[1])
asked = 0
while time.monotonic() < until:
    get_running_pid()
    asked += 1
print(json.dumps(asked))
