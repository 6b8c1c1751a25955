"""The systemd unit that runs the gateway without a window."""

from linux.facts import DISCLAIMER

UNIT = "hermes-desktop-gateway.service"


def gateway_unit(command: str = "/usr/bin/hermes-desktop") -> str:
    """Return the user unit; ``systemctl --user enable --now`` with its name starts it at login.

    Stopping signals the program alone, so that running replies can finish and the process that
    holds the identity is ended by its parent. A gateway that cannot run here is not retried for
    long, since another program may have the home.
    """
    return f"""\
# {DISCLAIMER}
[Unit]
Description=Gateway of the Hermes assistant (Hermes Desktop, without a window)
Documentation=man:hermes-desktop-gateway(1)
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
ExecStart={command} gateway run
KillMode=mixed
TimeoutStopSec=60
Restart=on-failure
RestartSec=15

[Install]
WantedBy=default.target
"""
