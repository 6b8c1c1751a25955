"""Starting at login: what other programs and people wrote is respected, on each system."""

import plistlib
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.settings_joining import watch_settings
from hermes_desktop.services.hosting.gateway_host import HostSetup
from hermes_desktop.services.login.login_macos import LaunchAgent
from hermes_desktop.services.login.login_start import (
    LoginCommand,
    UnavailableEntry,
    login_command,
    this_program,
)
from hermes_desktop.services.login.login_system import login_entry
from hermes_desktop.services.login.login_windows import APPROVED, RUN, RunEntry
from hermes_desktop.services.login.login_xdg import AutostartFile, config_folders, exec_line
from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository
from tests.fakes.clock import MovableClock

COMMAND = LoginCommand("hermes-desktop", ("/opt/Hermes Desktop/hermes-desktop", "--hidden"))


# ------------------------------------------------------------------------------------ what starts


def test_each_home_has_an_entry_of_its_own(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    root = tmp_path / ".hermes"
    usual = login_command(HermesPaths(root, root), environ, ["hd"])
    assert usual == LoginCommand("hermes-desktop", ("hd", "--hidden"))
    profile = HermesPaths(root / "profiles" / "work", root, "work")
    assert login_command(profile, environ, ["hd"]) == LoginCommand(
        "hermes-desktop-work", ("hd", "--profile", "work", "--hidden")
    )
    other = tmp_path / "other home"
    found = login_command(HermesPaths(other, other, "custom"), environ, ["hd"])
    assert found.environment == {"HERMES_HOME": str(other)}
    assert found.name.startswith("hermes-desktop-")
    assert " " not in found.name


def test_what_outlives_updates_is_started() -> None:
    image = "/home/me/Hermes.AppImage"
    mounted = str(Path(sys.executable).parents[1])
    assert this_program({"APPIMAGE": image, "APPDIR": mounted}) == (image,)
    # Inherited from a program around, such as an editor with a terminal.
    assert image not in this_program({"APPIMAGE": image, "APPDIR": "/tmp/.mount_editor"})
    assert all(this_program({"PATH": ""}))


# -------------------------------------------------------------------------------- freedesktop.org


@pytest.fixture
def entry(tmp_path: Path) -> AutostartFile:
    return AutostartFile(COMMAND, tmp_path / "config" / "autostart", (tmp_path / "system",))


def test_a_file_is_written_and_taken_away(entry: AutostartFile) -> None:
    assert not entry.is_on()
    entry.turn_off()
    assert not entry.file.parent.exists()
    entry.turn_on()
    assert entry.is_on()
    text = entry.file.read_text()
    assert 'Exec="/opt/Hermes Desktop/hermes-desktop" --hidden\n' in text
    assert text.startswith("[Desktop Entry]\nType=Application\n")
    entry.turn_on()
    assert entry.file.read_text() == text
    assert [each.name for each in entry.file.parent.iterdir()] == [entry.file.name]
    entry.turn_off()
    assert not entry.is_on()
    assert not entry.file.exists()


@pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled=false"])
def test_what_the_desktop_switched_off_is_off(entry: AutostartFile, line: str) -> None:
    entry.turn_on()
    key = line.partition("=")[0]
    kept = [each for each in entry.file.read_text().splitlines() if not each.startswith(key)]
    entry.file.write_text("\n".join([*kept, line, ""]))
    assert not entry.is_on()
    entry.turn_on()
    assert entry.is_on()


def test_a_command_that_somebody_wrote_stays(entry: AutostartFile) -> None:
    own = (
        "# mine\n[Desktop Entry]\nType=Application\nName=Mine\nExec=nice hermes-desktop\n"
        "\n[Desktop Action x]\nExec=other\n"
    )
    entry.file.parent.mkdir(parents=True)
    entry.file.write_text(own)
    assert entry.is_on()
    entry.turn_off()
    assert not entry.is_on()
    assert "Exec=nice hermes-desktop\n" in entry.file.read_text()
    entry.turn_on()
    assert entry.is_on()
    text = entry.file.read_text()
    assert "Exec=nice hermes-desktop\n" in text
    assert "# mine\n" in text
    assert text.endswith("[Desktop Action x]\nExec=other\n")


def test_our_own_command_follows_where_the_program_is_now(entry: AutostartFile) -> None:
    entry.turn_on()
    entry.file.write_text(entry.file.read_text() + "X-GNOME-Autostart-Delay=9\n")
    moved = LoginCommand("hermes-desktop", ("/usr/bin/hermes-desktop", "--hidden"))
    AutostartFile(moved, entry.file.parent).turn_on()
    text = entry.file.read_text()
    assert "Exec=/usr/bin/hermes-desktop --hidden\n" in text
    assert "Hermes Desktop" not in text
    assert "X-GNOME-Autostart-Delay=9\n" in text


def test_an_entry_of_an_earlier_version_is_ours(entry: AutostartFile) -> None:
    earlier = (
        "[Desktop Entry]\nType=Application\nName=Hermes\nComment=Start Hermes in the tray\n"
        "Exec=/home/me/.local/bin/hermes-desktop --hidden\nIcon=hermes-desktop\nTerminal=false\n"
        "StartupNotify=false\nX-GNOME-Autostart-enabled=true\n"
        "X-HermesDesktop-Exec=/home/me/.local/bin/hermes-desktop --hidden\n"
    )
    file = entry.file.with_name("hermes-desktop.desktop")
    file.parent.mkdir(parents=True)
    file.write_text(earlier)
    assert entry.is_on()
    entry.turn_on()
    assert 'Exec="/opt/Hermes Desktop/hermes-desktop" --hidden\n' in file.read_text()
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    entry.turn_off()
    assert not entry.is_on()
    assert not file.exists()


def test_a_file_of_the_system_is_hidden_and_not_touched(
    entry: AutostartFile, tmp_path: Path
) -> None:
    system = tmp_path / "system" / entry.file.name
    system.parent.mkdir()
    system.write_text("[Desktop Entry]\nType=Application\nExec=hermes-desktop\n")
    assert entry.is_on()
    entry.turn_off()
    assert not entry.is_on()
    assert "Hidden=true" in entry.file.read_text()
    entry.turn_on()
    assert entry.is_on()
    assert "Hidden" not in system.read_text()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"nonsense", b"[Other]\nExec=x\n"])
def test_a_file_that_is_none_starts_nothing(entry: AutostartFile, content: bytes) -> None:
    entry.file.parent.mkdir(parents=True)
    entry.file.write_bytes(content)
    assert not entry.is_on()
    entry.turn_on()
    assert entry.is_on()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "autostart").write_text("in the way")
    with pytest.raises(HermesError, match="could not be changed"):
        AutostartFile(COMMAND, tmp_path / "autostart").turn_on()


def test_the_folders_are_those_of_the_specification(tmp_path: Path) -> None:
    own, system = config_folders({}, tmp_path)
    assert (own, system) == (tmp_path / ".config/autostart", (Path("/etc/xdg/autostart"),))
    given = {"XDG_CONFIG_HOME": "relative", "XDG_CONFIG_DIRS": "/a:b:/c"}
    own, system = config_folders(given, tmp_path)
    assert own == tmp_path / ".config/autostart"
    assert system == (Path("/a/autostart"), Path("/c/autostart"))


@pytest.mark.parametrize("word", ['a"b', "a$b", "a`b", "a\\b", "a b", "100%", "semi;colon"])
def test_a_command_is_read_as_it_was_meant(word: str) -> None:
    line = exec_line(LoginCommand("x", ("/bin/echo", word), {"HERMES_HOME": f"/{word}"}))
    unescaped = line.replace("\\\\", "\\").replace("%%", "%")
    for sign in "$`":  # the shell's rules here, but Python's reader knows only two signs
        unescaped = unescaped.replace(f"\\{sign}", sign)
    assert shlex.split(unescaped) == ["env", f"HERMES_HOME=/{word}", "/bin/echo", word]


# --------------------------------------------------------------------------------- other systems


class Registry:
    def __init__(self) -> None:
        self.values: dict[tuple[str, str], str | bytes] = {}
        self.locked = False

    def read(self, key: str, name: str) -> str | bytes | None:
        return self.values.get((key, name))

    def write(self, key: str, name: str, value: str) -> None:
        if self.locked:
            raise PermissionError(13, "Access is denied")
        self.values[key, name] = value

    def remove(self, key: str, name: str) -> None:
        self.values.pop((key, name), None)


def test_windows_keeps_a_command_line_under_run() -> None:
    registry = Registry()
    entry = RunEntry(COMMAND, registry)
    assert not entry.is_on()
    entry.turn_on()
    assert registry.values == {
        (RUN, "hermes-desktop"): '"/opt/Hermes Desktop/hermes-desktop" --hidden'
    }
    registry.values[APPROVED, "hermes-desktop"] = b"\x03\x00\x00\x00"
    assert not entry.is_on()  # switched off in the Task Manager
    entry.turn_on()
    assert entry.is_on()
    entry.turn_off()
    assert registry.values == {}
    registry.locked = True
    with pytest.raises(HermesError, match="could not be changed"):
        entry.turn_on()
    named = LoginCommand("x", ("hd",), {"HERMES_HOME": "C:\\other"})
    with pytest.raises(RefusedError):
        RunEntry(named, registry).turn_on()


def test_macos_keeps_a_property_list(tmp_path: Path) -> None:
    agent = LaunchAgent(COMMAND, tmp_path / "Library" / "LaunchAgents")
    assert not agent.is_on()
    agent.turn_on()
    assert agent.is_on()
    found: dict[str, Any] = plistlib.loads(agent.file.read_bytes())
    assert found["ProgramArguments"] == list(COMMAND.words)
    agent.file.write_bytes(plistlib.dumps({**found, "Disabled": True, "Nice": 5}))
    assert not agent.is_on()
    agent.turn_on()
    assert plistlib.loads(agent.file.read_bytes())["Nice"] == 5
    assert agent.is_on()
    agent.turn_off()
    agent.turn_off()
    assert not agent.file.exists()


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_each_system_has_its_own(tmp_path: Path, system: str) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    found = login_entry(paths, {"HOME": str(tmp_path)}, system=system)
    assert type(found) is {"linux": AutostartFile, "darwin": LaunchAgent}[system]
    assert not found.is_on()
    nobody = login_entry(paths, {}, system=system)
    assert type(nobody) is UnavailableEntry
    with pytest.raises(RefusedError):
        nobody.turn_on()


# ------------------------------------------------------------------------------- as a setting


def test_the_setting_is_what_the_system_says(tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    home.mkdir()
    environ = {"HOME": str(tmp_path)}
    book = SettingsRepository(HermesPaths(home, home), environ, MovableClock())
    key = "desktop.start_at_login"
    assert book.save([Change(key, value=True)], dry_run=True).diff
    assert not (tmp_path / ".config").exists()
    saved = book.save([Change(key, value=True)])
    assert [change.key for change in saved.changes] == [key]
    view = book.find(key)
    assert (view.value, view.source, view.is_set) == (True, "system", True)
    file = tmp_path / ".config" / "autostart" / "hermes-desktop.desktop"
    file.write_text(file.read_text() + "Hidden=true\n")
    assert book.find(key).value is False
    assert book.save([Change(key, value=False)]).diff == ""
    book.save([Change(key, value=True)])
    book.save([Change(key, unset=True)])
    assert not file.exists()
    assert not (home / "desktop" / "settings.yaml").exists()


def test_what_the_desktop_does_to_it_is_noticed(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path / ".hermes", tmp_path / ".hermes")
    setup = HostSetup(paths, {"HOME": str(tmp_path)})
    watch = watch_settings(setup)
    file = tmp_path / ".config" / "autostart" / "hermes-desktop.desktop"
    file.parent.mkdir(parents=True)
    assert not watch.look()
    file.write_text("[Desktop Entry]\n")
    assert watch.look()
    assert not watch.look()


def test_nothing_is_started_at_login_when_the_rest_is_refused(tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text("agent: {<<: *x}\n")
    book = SettingsRepository(HermesPaths(home, home), {"HOME": str(tmp_path)}, MovableClock())
    changes = [Change("desktop.start_at_login", value=True), Change("agent.max_turns", 5)]
    with pytest.raises(HermesError):
        book.save(changes)
    assert not (tmp_path / ".config" / "autostart").exists()
