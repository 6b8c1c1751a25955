"""The person's own commands as ``hermes-desktop rpc`` does them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.quick_commands import QuickCommand, QuickRunner, quick_commands
from hermes_desktop.services.own_commands import own_commands, quick_runner
from hermes_desktop.tui_gateway.program import OwnCommand


def rpc_commands(
    paths: HermesPaths, environ: Mapping[str, str], clean: Callable[[str], str]
) -> Sequence[OwnCommand]:
    """All that make sense, as the settings stand now. Blocking; any thread; never raises.

    Args:
        paths: The home.
        environ: The process environment; what is secret in it reaches none of them.
        clean: Takes secrets out of what they say.
    """
    section = own_commands(paths)
    if not section:
        return ()
    runner = quick_runner(paths, environ, clean)
    return [_own(each, runner) for each in quick_commands(section)]


def _own(command: QuickCommand, runner: QuickRunner) -> OwnCommand:
    if command.kind == "alias":
        return OwnCommand(command.definition(), stands_for=command.does)
    return OwnCommand(command.definition(), run=partial(_run, runner, command))


def _run(
    runner: QuickRunner, command: QuickCommand, _args: str, given_up: Callable[[], bool]
) -> str:
    """What was typed behind it does not reach the shell."""
    return runner.run(command, given_up)
