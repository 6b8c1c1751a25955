"""What a person sees: the program on a pseudo-terminal."""

import os
import pty
import struct
import subprocess
import termios
from fcntl import ioctl

import pytest

from tests.fakes.program import PROGRAM, Converse, Program


def on_terminal(program: Program, *arguments: str, columns: int = 100, **env: str) -> str:
    """Run on a terminal of that width and return what arrived there."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    environment = {**program.environment(), "TERM": "xterm-256color", **env}
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the last holder of the other end is gone
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return b"".join(pieces).decode().replace("\r\n", "\n")


@pytest.fixture
def some_sessions(converse: Converse) -> None:
    converse("20260101_100000_aaaaaa", "Hello", "Hi", title="A title that is " + "long " * 14)
    converse("20260101_110000_bbbbbb", "An untitled one [bold]not markup[/bold] :smile:")
    converse("20260101_120000_cccccc", "x", title="世界" * 20)


@pytest.mark.usefixtures("some_sessions")
@pytest.mark.parametrize("columns", [30, 60, 80, 100, 200])
def test_ids_stay_whole_whatever_the_width(program: Program, columns: int) -> None:
    screen = on_terminal(program, "sessions", "list", columns=columns)

    for session_id in (
        "20260101_100000_aaaaaa",
        "20260101_110000_bbbbbb",
        "20260101_120000_cccccc",
    ):
        assert session_id in screen
    assert len(screen.splitlines()) == 4


@pytest.mark.usefixtures("some_sessions")
def test_table_has_names_and_ages(program: Program) -> None:
    screen = on_terminal(program, "sessions", "list", columns=120)

    header, newest, *_ = screen.splitlines()
    for name in ("Title", "Source", "Messages", "Last active", "ID"):
        assert name in header
    assert "just now" in newest
    assert "“An untitled one [bold]not markup[/bold] :smile:”" in screen  # it is not a title
    assert "“A title" not in screen


@pytest.mark.usefixtures("some_sessions")
def test_no_colour_when_not_wanted(program: Program) -> None:
    assert "\x1b[1m" in on_terminal(program, "sessions", "show", "20260101_11")
    assert "\x1b" not in on_terminal(program, "sessions", "show", "20260101_11", NO_COLOR="1")
    assert "\x1b" not in on_terminal(program, "sessions", "list", TERM="dumb")
