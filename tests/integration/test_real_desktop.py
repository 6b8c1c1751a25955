"""The program as a process on a real desktop: window, tray host, closing, ending."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.desktop_id import DESKTOP_ID
from tests.fakes.real_desktop import NEEDS_DESKTOP, RealDesktop, real_desktop

pytestmark = [
    pytest.mark.slow,
    pytest.mark.two_processes,
    pytest.mark.timeout(300),
    NEEDS_DESKTOP,
]
PICTURES = Path(__file__).parents[2] / ".ci" / "out" / "screens"
PROGRAM = (sys.executable, "-m", "hermes_desktop")


@pytest.fixture
def desktop() -> Iterator[RealDesktop]:
    """A desktop with a tray host."""
    with real_desktop() as running:
        yield running


def test_closing_the_window_keeps_the_program_in_the_tray(desktop: RealDesktop) -> None:
    program = desktop.start(*PROGRAM, "--demo", log="program")
    desktop.wait_for("the window", lambda: desktop.windows("Hermes"))
    desktop.wait_for("the tray icon", lambda: "StatusNotifierItem" in desktop.tray_items())
    desktop.screenshot(PICTURES / "real-desktop.png")
    window = desktop.windows("Hermes")[0]

    desktop.output("xdotool", "windowactivate", "--sync", window)
    desktop.output("xdotool", "key", "ctrl+w")

    desktop.wait_for("hiding", lambda: not desktop.windows("Hermes"))
    assert program.poll() is None
    assert "StatusNotifierItem" in desktop.tray_items()

    program.send_signal(signal.SIGTERM)
    assert program.wait(60) == 0
    desktop.wait_for("the icon's end", lambda: "StatusNotifierItem" not in desktop.tray_items())


def test_hidden_start_shows_only_the_tray_icon(desktop: RealDesktop) -> None:
    program = desktop.start(*PROGRAM, "--demo", "--hidden", log="program")
    desktop.wait_for("the tray icon", lambda: "StatusNotifierItem" in desktop.tray_items())
    assert not desktop.windows("Hermes")
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 0


def test_a_second_start_brings_the_first_window_forward(desktop: RealDesktop) -> None:
    first = desktop.start(*PROGRAM, "--hidden", log="first")
    desktop.wait_for("the tray icon", lambda: "StatusNotifierItem" in desktop.tray_items())
    second = desktop.start(*PROGRAM, log="second")
    assert second.wait(60) == 0
    desktop.wait_for("the window", lambda: desktop.windows("Hermes"))
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0


def test_hidden_start_without_a_tray_host_is_not_invisible() -> None:
    with real_desktop(tray=False) as bare:
        program = bare.start(*PROGRAM, "--demo", "--hidden", log="program")
        bare.wait_for("a window", lambda: bare.output("xdotool", "search", "--name", "Hermes"))
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 0


def test_demo_leaves_no_trace(desktop: RealDesktop) -> None:
    program = desktop.start(*PROGRAM, "--demo", log="program")
    desktop.wait_for("the window", lambda: desktop.windows("Hermes"))
    program.send_signal(signal.SIGTERM)
    assert program.wait(60) == 0
    assert not (Path(desktop.env["HOME"]) / ".hermes").exists()


def test_a_screen_that_goes_away_ends_the_program_without_a_fright(desktop: RealDesktop) -> None:
    """Qt may end the process itself, without a word; where we are asked, we say it in words."""
    program = desktop.start(*PROGRAM, "--demo", log="program")
    desktop.wait_for("the window", lambda: desktop.windows("Hermes"))
    desktop.processes[0].terminate()  # the X server
    assert program.wait(60) == 1
    told = (desktop.folder / "program.log").read_text(encoding="utf-8")
    assert told == "" or told.startswith("The display was lost.")
    assert told.count("The display was lost.") <= 1


@pytest.mark.needs("xprop")
def test_desktops_find_the_menu_entry_of_a_window(desktop: RealDesktop) -> None:
    program = desktop.start(*PROGRAM, "--demo", log="program")
    desktop.wait_for("the window", lambda: desktop.windows("Hermes"))

    facts = desktop.output("xprop", "-id", desktop.windows("Hermes")[0])

    assert f'WM_CLASS(STRING) = "{DESKTOP_ID}", ' in facts
    assert f'_GTK_APPLICATION_ID(UTF8_STRING) = "{DESKTOP_ID}"' in facts
    assert f'_KDE_NET_WM_DESKTOP_FILE(UTF8_STRING) = "{DESKTOP_ID}"' in facts
    program.send_signal(signal.SIGTERM)
    assert program.wait(60) == 0
