"""Start-up of the desktop program, or the reason why it cannot start. Importing loads no Qt."""

import os
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hermes_desktop import __version__
from hermes_desktop.core.errors import UsageError
from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.restart import restart_program, returns_of

if TYPE_CHECKING:
    from hermes_desktop.ui.start.desktop_program import ProgramEnd
    from hermes_desktop.ui.widgets.theme import ColorScheme


@dataclass(frozen=True, slots=True)
class DesktopOptions:
    """The options of the command line.

    Attributes:
        paths: The home; None with ``demo``, which creates its own.
        hidden: Start without showing the window.
        demo: Show a made-up history in a temporary home.
        screenshot: With ``demo``: save a picture of the window to this file and exit.
        color_scheme: ``system``, ``light`` or ``dark``.
    """

    paths: HermesPaths | None = None
    hidden: bool = False
    demo: bool = False
    screenshot: Path | None = None
    color_scheme: str = "system"


def run_desktop(options: DesktopOptions) -> int:
    """Run the desktop program until it is asked to quit.

    Returns:
        The exit code.

    Raises:
        NoDisplayError: There is no display, or a system library is missing (exit code 3).
        HermesError: Another failure that the user can act on.
    """
    if options.screenshot is not None:
        _use_offscreen_platform()
    _check_qt()
    if options.demo:
        end = _run_demo(options)
    elif options.paths is None:
        raise UsageError("No home was given.")
    else:
        end = _run(options, options.paths, SecretRedactor())
    if end.restart:
        restart_program(end.restart)
    return end.code


def run_self_test() -> int:
    """Load Qt, open a temporary history, and print the versions that were used.

    Returns:
            0; every failure is raised.
    """
    _use_offscreen_platform()
    _check_qt()
    from hermes_desktop.ui.start.self_test import run_parts

    with tempfile.TemporaryDirectory(prefix="hermes-self-test-") as folder:
        versions = run_parts(Path(folder))
    ours = [f"Hermes Desktop {__version__}", f"Python {platform.python_version()}"]
    sys.stdout.write(f"self-test passed: {', '.join(ours + versions)}\n")
    return 0


def _run_demo(options: DesktopOptions) -> "ProgramEnd":
    from hermes_desktop.services.assembly.demo_home import create_demo_home

    with tempfile.TemporaryDirectory(prefix="hermes-demo-", ignore_cleanup_errors=True) as folder:
        paths = create_demo_home(Path(folder), now=time.time())
        return _run(options, paths, SecretRedactor())


def _run(options: DesktopOptions, paths: HermesPaths, redactor: SecretRedactor) -> "ProgramEnd":
    set_up_logging(redactor, log_file=paths.log_file)
    from hermes_desktop.services.settings.desktop_config import read_desktop_config
    from hermes_desktop.ui.start.desktop_program import ProgramSetup, run_program

    desktop, returns = read_desktop_config(paths), returns_of(os.environ, os.getpid())
    return run_program(
        ProgramSetup(
            paths=paths,
            redactor=redactor,
            hidden=(options.hidden or desktop.start_hidden) and not returns,
            returns=returns,
            desktop=desktop,
            demo=options.demo,
            screenshot=options.screenshot,
            color_scheme=cast("ColorScheme", options.color_scheme),
        )
    )


def _use_offscreen_platform() -> None:
    """Make Qt render into memory, unless another platform is set."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def _check_qt() -> None:
    """Check that a window can be opened, because Qt would abort the process."""
    from hermes_desktop.services.diagnosis.display_check import check_display, missing_library
    from hermes_desktop.ui.start.qt_loading import load_qt

    check_display(os.environ)
    try:
        load_qt()
    except ImportError as error:
        raise missing_library(error) from error
