"""What a gateway in the foreground says: once each, counted in place where a person looks."""

import contextlib
import os
import pty
from collections.abc import Callable
from dataclasses import replace

import pytest

from hermes_desktop.cli.gateway.gateway_program import GatewayProgress
from hermes_desktop.core.events import (
    GatewayStatusChanged,
    HostingRefusal,
    PlatformHealth,
    UndoneWork,
)

WAITING = GatewayStatusChanged("stopping", "Waiting for 1 reply, 9 s left.", running_turns=1)


def on_a_terminal(write: Callable[[], None]) -> str:
    """What appears while standard error is a terminal.

    It is read up to its end, which comes once the other end is closed: the kernel brings what was
    written a moment later and in pieces.
    """
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as screen, contextlib.redirect_stderr(screen):
        write()
    written = b""
    with os.fdopen(ours, "rb", buffering=0) as reader, contextlib.suppress(OSError):
        while piece := reader.read(65536):
            written += piece
    return written.decode()


def test_each_thing_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    progress = GatewayProgress()
    telegram = PlatformHealth("telegram", "connecting")
    starting = GatewayStatusChanged("starting", "Connecting the platforms.")

    progress.show(starting)
    progress.show(replace(starting, platforms=(telegram,)))
    progress.show(replace(starting, platforms=(telegram,)))
    for turns in (0, 1, 2, 0):
        up = replace(telegram, state="connected", last_heard_at=turns)
        progress.show(GatewayStatusChanged("running", running_turns=turns, platforms=(up,)))
    lost = replace(telegram, state="retrying", detail="No\x1b[2J route\nto the host.")
    progress.show(GatewayStatusChanged("degraded", platforms=(lost,)))
    progress.show(GatewayStatusChanged("running"))
    progress.show(GatewayStatusChanged("running"))
    progress.clear()

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "Connecting the platforms.",
        "telegram: connecting",
        "telegram: connected",
        "telegram: retrying – No␛[2J route to the host.",
        "telegram: turned off",
    ]


def test_in_a_log_seconds_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    progress = GatewayProgress()
    for left in (9, 8, 7):
        progress.show(replace(WAITING, detail=f"Waiting for 1 reply, {left} s left."))
    progress.clear()

    assert capsys.readouterr().err == "Waiting for 1 reply, 9 s left.\n"


def test_on_a_terminal_seconds_are_counted_in_one_line() -> None:
    progress = GatewayProgress()

    def count() -> None:
        progress.show(replace(WAITING, detail="Waiting for 1 reply, 10 s left."))
        progress.show(WAITING)
        progress.show(GatewayStatusChanged("stopped", "The gateway was stopped."))

    written = on_a_terminal(count)
    assert written.startswith(
        "\rWaiting for 1 reply, 10 s left.\rWaiting for 1 reply, 9 s left. \r"
    )
    assert written.endswith(" \rThe gateway was stopped.\r\n")


def test_a_refusal_is_left_to_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    refusal = HostingRefusal("It was not started.")
    GatewayProgress().show(GatewayStatusChanged("stopped", refusal.title, refusal=refusal))

    assert capsys.readouterr().err == ""


def test_what_is_not_run_is_said_once_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    progress = GatewayProgress()
    running = GatewayStatusChanged("running")
    one = replace(running, undone=UndoneWork(1, 0, ("news",)))

    for status in (running, one, replace(one, running_turns=1), running, one):
        progress.show(status)

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert lines[0].startswith("Not run here: 1 scheduled job (“news”). `hermes` expects")
