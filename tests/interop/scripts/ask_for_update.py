"""What an update of hermes-agent would do with the gateways it finds.

Run with hermes-agent's interpreter. Prints the pids it finds, which profile each serves, and how
it would restart the one of the default profile.
"""

import json

from hermes_cli import gateway

pids = gateway.find_gateway_pids(all_profiles=True)
serving = {each.pid: each.profile for each in gateway.find_profile_gateway_processes()}
modes = {
    pid: gateway._prepare_profile_gateway_update_restart(profile, pid)
    for pid, profile in serving.items()
}
print(json.dumps({"pids": pids, "serving": serving, "modes": modes}))
