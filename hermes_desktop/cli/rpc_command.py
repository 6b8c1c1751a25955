"""``hermes-desktop rpc``: the assistant for other programs, by JSON-RPC."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.core.errors import HermesError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.tui_gateway.serving import Ending
    from hermes_desktop.tui_gateway.transport import ListeningSocket, Streams

_BY_ITSELF = ""
_FOLDER = "hermes-desktop"


@click.command()
@click.option(
    "--socket",
    "socket",
    is_flag=False,
    flag_value=_BY_ITSELF,
    default=None,
    metavar="[PATH]",
    help="Serve any number of your programs on a Unix socket instead of standard input and output.",
)
@with_home
def rpc(*, socket: str | None, paths: "HermesPaths") -> int:
    """Serve editors and scripts by JSON-RPC.

    Speaks JSON-RPC 2.0, one object per line in each direction. Requests are read from standard
    input; responses and events, and nothing else, go to standard output. The first frame is the
    event gateway.ready; start a session with session.create, then prompt.submit. When the input
    ends, running replies are completed. Ctrl-C and SIGTERM interrupt them; the part received so
    far is kept.
    """
    if socket is None:
        from hermes_desktop import __version__
        from hermes_desktop.tui_gateway import protocol
        from hermes_desktop.tui_gateway.transport import StreamTransport, claim_streams

        if output.is_input_terminal():
            output.say("Waiting for requests, one JSON object per line. Press Ctrl-D to end.")
        try:
            streams = claim_streams()
        except (OSError, AttributeError) as error:  # closed, or there never were any
            raise HermesError(
                "Requests cannot be read or answered.",
                "Standard input or standard output is closed.",
                "Start it from a program that keeps both open, or use --socket.",
            ) from error
        # Before everything the first request needs, so that a front end can show itself early.
        StreamTransport(streams.sink).write(protocol.ready(__version__, paths.profile))
        return _serve(paths, streams=streams)
    return _serve(paths, socket=socket)


def _serve(
    paths: "HermesPaths", *, streams: "Streams | None" = None, socket: str | None = None
) -> int:
    from hermes_desktop.core.clock import SystemClock
    from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
    from hermes_desktop.core.processes.exit_deadline import EXIT_SLACK_S, ExitDeadline
    from hermes_desktop.services.assembly.rpc_program import RpcParts
    from hermes_desktop.services.secrets.secret_access import with_secrets
    from hermes_desktop.tui_gateway.serving import Ending, SocketServing, StreamServing

    redactor = SecretRedactor()
    set_up_logging(redactor, log_file=paths.log_file)
    clock = SystemClock()
    environ = with_secrets(paths, os.environ, clock)
    parts = RpcParts(paths, redactor=redactor, environ=environ, clock=clock)
    deadline = ExitDeadline(tell=output.say)

    def closing() -> None:
        deadline.arm(EXIT_SLACK_S)

    ending = Ending()
    with contextlib.closing(ending), _signals(ending):
        if streams is not None:
            StreamServing(streams, ending, closing).run(parts.program())
        else:
            listening = _listen(paths, socket or "")
            output.say(f"Serving {paths.home} at {listening.path}. Press Ctrl-C to stop.")
            SocketServing(listening, ending, closing).run(parts.program())
        parts.close()
    return 0


def _listen(paths: "HermesPaths", wanted: str) -> "ListeningSocket":
    from hermes_desktop.tui_gateway.transport import ListeningSocket

    path = Path(wanted).expanduser().absolute() if wanted else _own_path(paths)
    try:
        return ListeningSocket(path)
    except OSError as error:
        raise HermesError(
            "The socket cannot be created.",
            f"{path}: {error.strerror or error}.",
            "Choose another path.",
        ) from error


def _own_path(paths: "HermesPaths") -> Path:
    """Return a socket path for the home, in the system's folder for such files."""
    import hashlib

    from hermes_desktop.core.paths import runtime_dir

    digest = hashlib.sha256(os.fsencode(paths.home.resolve())).hexdigest()[:16]
    folder = runtime_dir()
    if folder.name != _FOLDER:  # the system's own, for all programs
        folder /= _FOLDER
    return folder / f"rpc-{digest}.sock"


@contextlib.contextmanager
def _signals(ending: "Ending") -> Iterator[None]:
    """Make the usual signals request the end."""

    def ask(*_: object) -> None:
        ending.ask()

    before_fd = signal.set_wakeup_fd(ending.writer, warn_on_full_buffer=False)
    taken = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            taken[number] = signal.signal(number, ask)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before_fd)
        for number, before in taken.items():
            signal.signal(number, before)
