"""``hermes-desktop chat``: one message, one streamed reply."""

import sys
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.core.errors import UsageError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths


@click.command()
@click.option(
    "--query",
    "-q",
    metavar="TEXT",
    required=True,
    help="The message; - reads standard input.",
)
@click.option("--resume", "-r", metavar="ID|TITLE", help="Continue this session.")
@click.option(
    "--continue", "-c", "latest", is_flag=True, help="Continue the latest command-line session."
)
@click.option(
    "--now", is_flag=True, help="Send immediately, even if hermes is replying in the session."
)
@with_home
def chat(*, query: str, resume: str | None, latest: bool, now: bool, paths: "HermesPaths") -> int:
    """Send one message and print the reply as it arrives.

    Only the reply goes to standard output; everything else goes to standard error. The message
    starts a new session unless you name one. Press Ctrl-C to stop the reply; the part received so
    far is kept in the session.

    If another program is replying in the session, your message waits: for other Hermes Desktop
    programs until you press Ctrl-C, for hermes up to 5 minutes.

    /undo and /undo N show what would change, ask, and undo the last turns of the session you name,
    as "sessions undo" does.

    You are asked at the terminal before the assistant does anything that may do harm. Without a
    terminal, such actions are denied, and the assistant is informed.
    """
    if resume is not None and latest:
        raise click.UsageError("Use either --resume or --continue, not both.")
    text = output.without_surrogates(_read_standard_input() if query == "-" else query)
    if not text.strip():
        raise UsageError("There is nothing to send.", "The message is empty.", "Pass it with -q.")
    from hermes_desktop.cli.chat.chat_turn import ChatTarget, run_chat, undo_in

    target = None if resume is None else output.without_surrogates(resume)
    where = ChatTarget(resume=target, latest=latest, now=now)
    return 0 if undo_in(paths, text, where) else run_chat(paths, text, where)


def _read_standard_input() -> str:
    """Read the message; bytes that are not UTF-8 become U+FFFD."""
    if sys.stdin is None:  # pythonw has none
        return ""
    return sys.stdin.buffer.read().decode("utf-8", errors="replace").replace("\r\n", "\n")
