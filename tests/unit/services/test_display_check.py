"""No display, or no library for it, is said in words before Qt would abort."""

import socket
from pathlib import Path

import pytest

from hermes_desktop.services.diagnosis.display_check import (
    NoDisplayError,
    check_display,
    missing_library,
)


def test_no_display_names_the_variables_and_a_way_out() -> None:
    with pytest.raises(NoDisplayError) as caught:
        check_display({}, "linux")
    assert caught.value.exit_code == 3
    assert "DISPLAY" in caught.value.detail
    assert "xvfb-run" in caught.value.hint


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_need_no_check(platform: str) -> None:
    check_display({}, platform)


@pytest.mark.parametrize("plugin", ["offscreen", "minimal", "offscreen:enable_fonts", "vnc"])
def test_a_platform_without_a_screen_needs_none(plugin: str) -> None:
    check_display({"QT_QPA_PLATFORM": plugin}, "linux")


def test_an_x_server_that_is_not_there() -> None:
    with pytest.raises(NoDisplayError, match="no display") as caught:
        check_display({"DISPLAY": ":4711"}, "linux")
    assert ":4711" in caught.value.detail


def test_a_wayland_display_that_is_not_there(tmp_path: Path) -> None:
    environ = {"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)}
    with pytest.raises(NoDisplayError) as caught:
        check_display(environ, "linux")
    assert "wayland-7" in caught.value.detail


def test_a_wayland_display_that_answers(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-7"))
        server.listen(1)
        check_display({"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)}, "linux")


@pytest.mark.parametrize(
    ("message", "package"),
    [
        ("libEGL.so.1: cannot open shared object file", "libegl1"),
        ("libxcb-cursor.so.0: cannot open shared object file", "libxcb-cursor0"),
        ("libunheard.so.9: cannot open shared object file", "libxcb-xkb1"),
    ],
)
def test_a_missing_library_names_its_package(message: str, package: str) -> None:
    error = missing_library(ImportError(message))
    assert error.exit_code == 3
    assert message in error.detail
    assert package in error.hint
    assert "apt-get install" in error.hint
