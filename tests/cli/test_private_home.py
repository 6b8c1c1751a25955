"""What the program writes into a home belongs to its owner alone, whatever the umask is."""

import subprocess
from pathlib import Path

from tests.fakes.model_server import ModelServer, text
from tests.fakes.program import Program


def test_no_other_user_can_read_a_home(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(text("hello"), text("again"))
    before = set(configured.rglob("*"))
    run = 'umask 0; exec "$@"'
    for arguments in (
        ["chat", "-q", "hi"],
        ["sessions", "snapshot"],
        ["config", "set", "agent.max_turns", "50"],
        ["sessions", "delete", "--yes", "hi"],
    ):
        subprocess.run(
            ["/bin/sh", "-c", run, "sh", *program.start_arguments(*arguments)],
            env=program.environment(),
            capture_output=True,
            timeout=60,
            check=False,
        )
    made = sorted(set(configured.rglob("*")) - before)
    assert {path.name for path in made} >= {"state.db", "desktop", "logs"}
    readable = [path for path in made if path.lstat().st_mode & 0o077]
    assert readable == []
