"""Starting the program again in place of the running one, with the same process id."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Literal, NoReturn

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.processes.app_image import own_app_image

Returns = Literal["", "window", "gateway"]
"""What a restarted program brings back: its window, or its window and its gateway."""

_VARIABLE = "HERMES_DESKTOP_RESTARTED"


def restart_words(
    environ: Mapping[str, str],
    argv: Sequence[str],
    original: Sequence[str],
    executable: str,
    *,
    frozen: bool,
) -> list[str]:
    """Return the command that starts the program as it was started.

    Args:
        environ: The process environment.
        argv: ``sys.argv``.
        original: ``sys.orig_argv``: the interpreter, its options, the script and its arguments.
        executable: ``sys.executable``.
        frozen: Whether that is the program itself.
    """
    if image := own_app_image(environ, executable):  # which holds the interpreter
        return [image, *argv[1:]]
    return [executable, *(argv[1:] if frozen else original[1:])]


def restart_program(returns: Returns) -> NoReturn:
    """Replace this process by a new start of the program. Everything must be closed.

    Args:
        returns: What the new program brings back; see :func:`returns_of`.

    Raises:
        HermesError: The program cannot be started, for example because it was removed.
    """
    frozen = bool(getattr(sys, "frozen", False))
    words = restart_words(os.environ, sys.argv, sys.orig_argv, sys.executable, frozen=frozen)
    environ = {**os.environ, _VARIABLE: f"{returns} {os.getpid()}"}
    try:
        os.execve(words[0], words, environ)  # noqa: S606 - that is its purpose
    except OSError as error:
        raise HermesError(
            "Hermes Desktop could not be started again.",
            f"{words[0]}: {error.strerror or type(error).__name__}.",
            "Start it yourself; nothing is lost.",
        ) from error


def returns_of(environ: Mapping[str, str], pid: int) -> Returns:
    """Return what a restarted program brings back; "" if it was not restarted.

    Child processes inherit the variable but have another process id.

    Args:
        environ: The process environment.
        pid: The process id, which is the same as before the restart.
    """
    found, _, restarted = environ.get(_VARIABLE, "").partition(" ")
    if restarted != str(pid):
        return ""
    return "gateway" if found == "gateway" else "window"
