"""The files for menus, software centers, shells, readers and systemd."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from linux.completions import SHELLS, completion
from linux.facts import CHECKOUT, Release
from linux.icons import SIZES, icon_png, symbolic_icon
from linux.manual import command_contexts, escaped, manual_pages
from linux.service import UNIT
from linux.tree import HICOLOR, desktop_tree
from PySide6.QtGui import QImage

from hermes_desktop.cli.main import COMPLETION_VARIABLE
from hermes_desktop.core.desktop_id import DESKTOP_ID
from hermes_desktop.services.login.login_start import LoginCommand
from hermes_desktop.services.login.login_xdg import AutostartFile

RELEASE = Release("0.1.0", 1_790_000_000)
COMMANDS = sorted(context.command_path for context in command_contexts())


@pytest.fixture(scope="module")
def tree() -> dict[str, bytes]:
    """All files, made once."""
    return desktop_tree(RELEASE)


@pytest.fixture
def folder(tree: dict[str, bytes], tmp_path: Path) -> Path:
    """All files, written."""
    for name, content in tree.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path


def test_the_files_are_the_same_each_time(tree: dict[str, bytes]) -> None:
    assert desktop_tree(RELEASE) == tree


# ------------------------------------------------------------------------------------------ names


def test_one_name_everywhere(tree: dict[str, bytes], tmp_path: Path) -> None:
    menu = _entry(tree)["Desktop Entry"]
    info = _metainfo(tree)
    login = AutostartFile(LoginCommand("x", ("x",)), tmp_path)
    login.turn_on()

    assert (menu["Icon"], menu["StartupWMClass"]) == (DESKTOP_ID, DESKTOP_ID)
    assert info.findtext("id") == DESKTOP_ID
    assert info.findtext("launchable") == f"{DESKTOP_ID}.desktop"
    assert f"Icon={DESKTOP_ID}\n" in login.file.read_text(encoding="utf-8")


def test_no_file_of_the_official_program_is_replaced(tree: dict[str, bytes]) -> None:
    """Its packages and those that others make of it use ``hermes`` and ``hermes-desktop``."""
    names = [
        Path(path).name.split(".desktop")[0].split(".metainfo")[0]
        for path in tree
        if "/applications/" in path or "/metainfo/" in path or "/icons/" in path
    ]

    assert {name.removesuffix(".png").removesuffix(".svg") for name in names} == {
        DESKTOP_ID,
        f"{DESKTOP_ID}-symbolic",
    }
    assert UNIT not in {"hermes-gateway.service", "hermes.service"}


# ------------------------------------------------------------------------------- menu and metainfo


def test_the_menu_entry_starts_the_program(tree: dict[str, bytes]) -> None:
    entry = _entry(tree)
    menu = entry["Desktop Entry"]

    assert (menu["Type"], menu["Exec"], menu["Terminal"]) == (
        "Application",
        "hermes-desktop",
        "false",
    )
    actions = [f"Desktop Action {name}" for name in menu["Actions"].split(";") if name]
    assert entry.sections() == ["Desktop Entry", *actions]
    assert all(entry[each]["Exec"].startswith("hermes-desktop --") for each in actions)


def test_the_metainfo_says_who_made_it(tree: dict[str, bytes]) -> None:
    info = _metainfo(tree)
    text = " ".join(info.find("description").itertext())  # type: ignore[union-attr]
    release = info.find("releases/release")

    assert "independent and not made by Nous Research" in text
    assert release is not None
    assert (release.get("version"), release.get("date")) == ("0.1.0", "2026-09-21")
    assert info.find("screenshots") is None


@pytest.mark.needs("desktop-file-validate")
def test_the_menu_entry_is_valid(folder: Path) -> None:
    file = folder / "usr/share/applications" / f"{DESKTOP_ID}.desktop"
    done = subprocess.run(
        ["desktop-file-validate", file], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.needs("appstreamcli")
def test_the_metainfo_is_valid(folder: Path) -> None:
    file = folder / "usr/share/metainfo" / f"{DESKTOP_ID}.metainfo.xml"
    done = subprocess.run(
        ["appstreamcli", "validate", "--no-net", file], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


# ------------------------------------------------------------------------------------------- icons


def test_each_icon_has_its_size(tree: dict[str, bytes]) -> None:
    found = {
        int(match[1]): QImage.fromData(content)
        for path, content in tree.items()
        if (match := re.fullmatch(rf"{HICOLOR}/(\d+)x\1/apps/{re.escape(DESKTOP_ID)}\.png", path))
    }

    assert tuple(sorted(found)) == SIZES
    assert (min(SIZES), max(SIZES)) == (16, 512)
    for size, image in found.items():
        assert (image.width(), image.height()) == (size, size)
        assert image.pixelColor(0, 0).alpha() == 0
        assert image.pixelColor(size // 2, size * 5 // 6).alpha() == 255


def test_icons_are_drawn_for_their_size() -> None:
    assert icon_png(16) == icon_png(16)
    assert icon_png(16) != icon_png(32)


def test_the_symbolic_icon_is_one_filled_shape() -> None:
    root = ET.fromstring(symbolic_icon())

    assert [each.tag.rpartition("}")[2] for each in root] == ["path"]
    assert "stroke" not in root[0].attrib


# ------------------------------------------------------------------------------------------ manual


def test_every_command_has_its_section() -> None:
    pages = manual_pages(RELEASE)
    text = "\n".join(pages.values())
    sections = set(re.findall(r"^\.SS (.+)$", text, re.MULTILINE))
    named = set(re.findall(r"^\.SH NAME\n(\S+) ", text, re.MULTILINE))

    for command in COMMANDS:
        assert escaped(command) in sections or escaped(command.replace(" ", "-")) in named
    assert len(sections) + len(named) == len(COMMANDS)


def test_no_line_of_help_is_a_request_of_roff() -> None:
    known = {".TH", ".SH", ".SS", ".PP", ".TP"}
    for page in manual_pages(RELEASE).values():
        for line in page.splitlines():
            assert not line.startswith("'")
            assert not line.startswith(".") or line.split()[0] in known
    assert escaped(".x\n'y \\z -q") == "\\&.x\n\\&'y \\ez \\-q"


@pytest.mark.needs("man")
def test_man_shows_every_page_without_a_warning(folder: Path) -> None:
    for page in sorted((folder / "usr/share/man/man1").iterdir()):
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": ""},
        )
        assert (done.returncode, done.stderr) == (0, b""), page.name


# ------------------------------------------------------------------------------------- completions


def _asked(shell: str, words: str, incomplete: str) -> set[str]:
    """What the program answers to a completion script."""
    number = {"bash": str(len(words.split())), "zsh": str(len(words.split())), "fish": incomplete}
    done = subprocess.run(
        [sys.executable, "-m", "hermes_desktop"],
        env={
            **os.environ,
            COMPLETION_VARIABLE: f"{shell}_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": number[shell],
        },
        capture_output=True,
        text=True,
        check=True,
        cwd=CHECKOUT,
    )
    return set(re.split(r"[,\t\n]", done.stdout))


@pytest.mark.two_processes
@pytest.mark.parametrize("shell", SHELLS)
def test_completions_name_every_command(shell: str) -> None:
    parents = {command.rpartition(" ")[0] for command in COMMANDS} - {""}
    for parent in sorted(parents):
        expected = {
            command.rpartition(" ")[2]
            for command in COMMANDS
            if command.rpartition(" ")[0] == parent
        }
        assert expected <= _asked(shell, f"{parent} ", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_asks_the_program(shell: str) -> None:
    script = completion(shell)

    assert f"{COMPLETION_VARIABLE}={shell}_complete" in script
    assert "hermes-desktop" in script
    assert "%(" not in script


@pytest.mark.two_processes
@pytest.mark.parametrize(
    ("shell", "arguments"),
    [
        pytest.param("bash", ["-n"], marks=pytest.mark.needs("bash")),
        pytest.param("zsh", ["-n"], marks=pytest.mark.needs("zsh")),
        pytest.param("fish", ["--no-execute"], marks=pytest.mark.needs("fish")),
    ],
)
def test_shells_can_read_their_script(shell: str, arguments: list[str], tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(completion(shell), encoding="utf-8")
    done = subprocess.run(
        [shell, *arguments, file],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )

    assert (done.returncode, done.stderr) == (0, "")


# ----------------------------------------------------------------------------------------- systemd


def test_the_unit_runs_the_gateway(tree: dict[str, bytes]) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(tree[f"usr/lib/systemd/user/{UNIT}"].decode())

    assert unit["Service"]["ExecStart"] == "/usr/bin/hermes-desktop gateway run"
    assert unit["Service"]["KillMode"] == "mixed"
    assert unit["Install"]["WantedBy"] == "default.target"


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_the_unit(folder: Path) -> None:
    file = folder / "usr/lib/systemd/user" / UNIT
    # The program need not be installed where this is checked.
    text = file.read_text(encoding="utf-8").replace("/usr/bin/hermes-desktop", "/bin/true")
    file.write_text(text.replace("Documentation", "X-Documentation"), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", file],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
    )

    assert UNIT not in done.stderr, done.stderr


def _entry(tree: dict[str, bytes]) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(tree[f"usr/share/applications/{DESKTOP_ID}.desktop"].decode())
    return parser


def _metainfo(tree: dict[str, bytes]) -> ET.Element:
    return ET.fromstring(tree[f"usr/share/metainfo/{DESKTOP_ID}.metainfo.xml"])
