"""The program starts itself again: as it was started, with its window and its gateway."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.processes.restart import restart_program, restart_words, returns_of

CHECKOUT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("restarting_program.py")


def test_it_is_started_as_it_was() -> None:
    argv = ["/venv/bin/hermes-desktop", "--profile", "a"]
    original = ["python", "-I", *argv]
    python = "/venv/bin/python"
    assert restart_words({}, argv, original, python, frozen=False) == [python, *original[1:]]
    image = "/home/u/Hermes.AppImage"
    inside = {"APPIMAGE": image, "APPDIR": "/tmp/.mount_Hermes"}
    mounted = "/tmp/.mount_Hermes/usr/bin/python"
    assert restart_words(inside, argv, original, mounted, frozen=False) == [image, "--profile", "a"]
    for environ in (inside, {"APPIMAGE": image}, {"APPIMAGE": image, "APPDIR": "/"}):
        # Inherited from a program around, such as an editor with a terminal.
        words = restart_words(environ, argv, original, python, frozen=False)
        assert words == [python, *original[1:]]
    words = restart_words({"APPIMAGE": "no path"}, argv, argv, "/opt/hermes", frozen=True)
    assert words == ["/opt/hermes", "--profile", "a"]


def test_only_the_restarted_process_brings_something_back() -> None:
    name = "HERMES_DESKTOP_RESTARTED"
    assert returns_of({name: "gateway 7"}, 7) == "gateway"
    assert returns_of({name: "window 7"}, 7) == "window"
    assert returns_of({name: "gateway 7"}, 8) == ""  # a child process of it
    assert returns_of({name: "gateway"}, 7) == ""
    assert returns_of({}, 7) == ""


def test_a_program_that_was_removed_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(HermesError) as caught:
        restart_program("window")
    assert caught.value.title == "Hermes Desktop could not be started again."
    assert "gone" in caught.value.detail


@pytest.mark.slow
@pytest.mark.two_processes
def test_a_click_restarts_it_with_window_and_gateway(tmp_path: Path, short_folder: Path) -> None:
    """The gateway was started by hand and the program hidden; both return, the window in sight."""
    home, report = tmp_path / "h" / ".hermes", tmp_path / "report"
    (home / "desktop").mkdir(parents=True, mode=0o700)
    (home / "desktop" / "settings.yaml").write_text("start_gateway: false\n")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--hidden"],
        env={
            "PATH": os.environ["PATH"], "HOME": str(home.parent), "REPORT": str(report),
            "XDG_RUNTIME_DIR": str(short_folder), "QT_QPA_PLATFORM": "offscreen",
            "PYTHONPATH": str(CHECKOUT), "PYTHONWARNINGS": "error", "LC_ALL": "C.UTF-8",
        },
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    first, second = map(json.loads, report.read_text().splitlines())
    assert first["pid"] == second["pid"]
    assert first["argv"] == second["argv"] == ["--hidden"]
    assert first["minimized"]
    assert not second["minimized"]
    assert second["told"] == "Hermes Desktop is now version 9.9.0. Before, it was 0.1.0."
    log = (home / "logs" / "desktop.log").read_text(encoding="utf-8")
    assert " ERROR " not in log
    assert " CRITICAL " not in log
