"""``hermes-desktop``: start the desktop program, or run one of the commands.

Exit codes: 0 done · 1 failed · 2 wrong usage · 3 not found · 4 ambiguous · 5 refused or
cancelled · 6 busy or locked.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from hermes_desktop import __version__
from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import LazyGroup, profile_option
from hermes_desktop.core.errors import CancelledError, HermesError
from hermes_desktop.core.files.home_files import refuse_home_file
from hermes_desktop.core.paths import HermesPaths, default_root, resolve_paths

PROGRAM = "hermes-desktop"
COMPLETION_VARIABLE = "_HERMES_DESKTOP_COMPLETE"
"""Set by the completion scripts of shells, which ask for words in this way."""
DONE, FAILED, CANCELLED = 0, 1, CancelledError.exit_code

_COMMANDS = {
    "chat": ("hermes_desktop.cli.chat.chat_command", "chat"),
    "config": ("hermes_desktop.cli.settings.settings_commands", "config"),
    "doctor": ("hermes_desktop.cli.doctor_command", "doctor"),
    "gateway": ("hermes_desktop.cli.gateway.gateway_commands", "gateway"),
    "insights": ("hermes_desktop.cli.insights_command", "insights"),
    "models": ("hermes_desktop.cli.settings.model_commands", "models"),
    "plugins": ("hermes_desktop.cli.settings.plugin_commands", "plugins"),
    "rpc": ("hermes_desktop.cli.rpc_command", "rpc"),
    "secrets": ("hermes_desktop.cli.settings.secrets_commands", "secrets"),
    "sessions": ("hermes_desktop.cli.sessions.session_commands", "sessions"),
}


@click.group(
    cls=LazyGroup,
    places=_COMMANDS,
    name=PROGRAM,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
@click.version_option(__version__, "--version", prog_name="Hermes Desktop")
@profile_option
@click.option("--hidden", is_flag=True, help="Start in the tray without opening the window.")
@click.option("--demo", is_flag=True, help="Use sample sessions in a temporary home.")
@click.option(
    "--screenshot",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --demo: continue a session, save a screenshot of the window, and quit.",
)
@click.option(
    "--color-scheme",
    type=click.Choice(["system", "light", "dark"]),
    default="system",
    show_default=True,
    help="Color scheme of the window.",
)
@click.option(
    "--self-test", is_flag=True, help="Check that all required libraries load, then quit."
)
@click.pass_context
def root(  # noqa: PLR0913 - one argument an option
    context: click.Context,
    *,
    profile: str | None,
    hidden: bool,
    demo: bool,
    screenshot: Path | None,
    color_scheme: str,
    self_test: bool,
) -> int | None:
    """Hermes Desktop: your Hermes sessions in a window and the system tray.

    Without a command, the desktop program starts.
    """
    if context.invoked_subcommand is not None:
        _refuse_window_options(context)
        return None
    if screenshot is not None and not demo:
        raise click.UsageError("--screenshot requires --demo.")
    if demo and profile is not None:
        raise click.UsageError("--demo uses its own home; do not combine it with --profile.")
    from hermes_desktop.app import DesktopOptions, run_desktop, run_self_test

    if self_test:
        return run_self_test()
    if screenshot is not None:
        refuse_home_file(screenshot, _paths_to_protect())
    return run_desktop(
        DesktopOptions(
            paths=None if demo else resolve_paths(os.environ, profile),
            hidden=hidden,
            demo=demo,
            screenshot=screenshot,
            color_scheme=color_scheme,
        )
    )


def _paths_to_protect() -> HermesPaths:
    """Return the home of the environment, which the demonstration must not touch."""
    try:
        return resolve_paths(os.environ)
    except HermesError:  # no such profile: the demonstration does not need it
        home = default_root(os.environ)
        return HermesPaths(home, home)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: The command line without the program's name; that of the process by default.

    Returns:
        The exit code. Nothing is raised.
    """
    output.prepare_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    asked = os.environ.get(COMPLETION_VARIABLE, "")
    try:
        return _guarded(lambda: _complete(asked) if asked else _invoke(given))
    except BrokenPipeError:
        # The reader of `hermes-desktop sessions list | head -1` has read enough.
        output.discard_stdout()
        return DONE


def _guarded(run: Callable[[], int]) -> int:
    """Map every way to end to a message and an exit code.

    Raises:
        BrokenPipeError: The reader of the output has closed it.
    """
    try:
        code = run()
        output.flush()
    except BrokenPipeError:
        raise
    except HermesError as error:
        output.show_error(error)
        code = error.exit_code
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        output.say("Stopped.")
        code = CANCELLED
    except Exception as error:  # noqa: BLE001 - a bug: a sentence for the user, a traceback in the log
        from hermes_desktop.cli.bug_report import report_internal_error

        report_internal_error(error)
        code = FAILED
    return code


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(root, {}, PROGRAM, COMPLETION_VARIABLE, instruction)


def _invoke(arguments: list[str]) -> int:
    with root.make_context(PROGRAM, arguments) as context:
        code = root.invoke(context)
        # Here and not later: a help page is written inside, too.
        output.flush()
        return code if isinstance(code, int) else DONE


def _refuse_window_options(context: click.Context) -> None:
    """Reject a window option before a command: it is a mistake and must not be ignored."""
    for name in ("hidden", "demo", "screenshot", "self_test", "color_scheme"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(
                f"{option} is for the desktop program, not for “{context.invoked_subcommand}”."
            )
