"""Completions of the command line, as click writes them for each shell.

The scripts ask the program itself for the words, so that they never differ from its commands.
"""

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from hermes_desktop.cli.main import COMPLETION_VARIABLE, PROGRAM, root

SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


def completion(shell: str) -> str:
    """Return the script for a shell of :data:`SHELLS`."""
    made = SHELLS[shell](root, {}, PROGRAM, COMPLETION_VARIABLE)
    # Not .source(): for bash, it would ask the bash of this machine for its version.
    return made.source_template % made.source_vars()
