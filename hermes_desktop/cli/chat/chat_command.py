"""``hermes-desktop chat``: one message, one streamed reply."""

import sys
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.core.errors import UsageError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths


@click.command()
@click.option("--query", "-q", metavar="TEXT", required=True, help="The message; - reads it.")
@click.option("--resume", "-r", metavar="ID|TITLE", help="Continue this session.")
@click.option(
    "--continue", "-c", "latest", is_flag=True, help="Continue the latest command-line session."
)
@click.option(
    "--now", is_flag=True, help="Do not wait for a reply that hermes is writing in the session."
)
@with_home
def chat(*, query: str, resume: str | None, latest: bool, now: bool, paths: "HermesPaths") -> int:
    """Send one message and print the reply as it comes.

    The reply alone goes to standard output; everything else to standard error. A new session is
    begun unless one is named. Ctrl-C stops the reply; what came so far is kept in the session.

    While another program answers in the session, the message waits for it: for our own programs
    until Ctrl-C, for hermes 5 minutes at most.

    What may do harm is asked about at the terminal. Without one nobody can be asked: it is not
    done, and the assistant is told so.
    """
    if resume is not None and latest:
        raise click.UsageError("Give --resume or --continue, not both.")
    text = output.without_surrogates(_read_standard_input() if query == "-" else query)
    if not text.strip():
        raise UsageError(
            "There is nothing to send.", "The message is empty.", "Write it behind -q."
        )
    from hermes_desktop.cli.chat.chat_turn import ChatTarget, run_chat

    target = None if resume is None else output.without_surrogates(resume)
    return run_chat(paths, text, ChatTarget(resume=target, latest=latest, now=now))


def _read_standard_input() -> str:
    """Read the message; bytes that are not UTF-8 become U+FFFD."""
    if sys.stdin is None:  # pythonw has none
        return ""
    return sys.stdin.buffer.read().decode("utf-8", errors="replace").replace("\r\n", "\n")
