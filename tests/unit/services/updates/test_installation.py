"""How an installation is recognized, and the command that updates it."""

from dataclasses import replace
from pathlib import PurePosixPath as P

import pytest

from hermes_desktop.services.updates.installation import Traces, installation_of, traces_here

VENV = P("/home/u/venv")
PIP = Traces(
    package=VENV / "lib/python3.12/site-packages/hermes_desktop",
    prefix=VENV,
    base_prefix=P("/usr"),
    python=VENV / "bin/python",
)
PIPX = P("/home/u/.local/pipx/venvs/hermes-desktop")
UV = P("/home/u/.local/share/uv/tools/hermes-desktop")
CASES = {
    "pip": (PIP, "/home/u/venv/bin/python -m pip install --upgrade hermes-desktop"),
    "pipx": (
        replace(PIP, prefix=PIPX, receipts=frozenset({"pipx_metadata.json"})),
        "pipx upgrade hermes-desktop",
    ),
    "uv": (
        replace(PIP, prefix=UV, receipts=frozenset({"uv-receipt.toml"})),
        "uv tool upgrade hermes-desktop",
    ),
    "deb": (
        replace(PIP, package=P("/usr/lib/hermes-desktop-qt/hermes_desktop"), listed_by_dpkg=True),
        "sudo apt install ./hermes-desktop-qt_*.deb",
    ),
    "appimage": (replace(PIP, appimage="/home/u/Hermes.AppImage"), ""),
    "checkout": (
        replace(PIP, package=P("/home/u/src/hermes_desktop"), project_file=True),
        "git pull && /home/u/venv/bin/python -m pip install --editable .",
    ),
    "other": (replace(PIP, prefix=P("/usr")), ""),
}


@pytest.mark.parametrize("way", CASES)
def test_each_way_has_its_command(way: str) -> None:
    traces, command = CASES[way]
    found = installation_of(traces)
    assert (found.way, found.command) == (way, command)
    assert found.update.endswith("." if not command else ":")


def test_a_pipx_environment_with_a_suffix_is_upgraded_by_its_name() -> None:
    traces = replace(CASES["pipx"][0], prefix=PIPX.with_name("hermes-desktop-beta"))
    assert installation_of(traces).command == "pipx upgrade hermes-desktop-beta"


def test_a_package_of_the_system_does_not_make_another_installation_its_own() -> None:
    assert installation_of(replace(PIP, listed_by_dpkg=True)).way == "pip"
    assert installation_of(replace(CASES["deb"][0], prefix=P("/usr"))).way == "deb"
    assert installation_of(replace(CASES["deb"][0], frozen=True)).way == "deb"
    assert installation_of(replace(PIP, frozen=True)).way == "other"
    official = replace(PIP, package=P("/opt/hermes-desktop/hermes_desktop"), listed_by_dpkg=True)
    assert installation_of(official).way == "pip"


def test_a_path_with_a_space_is_one_word() -> None:
    spaced = replace(PIP, python=P("/home/a b/bin/python"))
    assert installation_of(spaced).command.startswith("'/home/a b/bin/python' -m pip")


def test_the_sources_are_recognized_as_a_checkout() -> None:
    assert installation_of(traces_here({})).way == "checkout"
