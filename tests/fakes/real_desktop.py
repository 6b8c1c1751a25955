"""A real desktop on a virtual screen: X server, session bus, window manager, tray host.

Nothing here is simulated: the tray is xfce4-panel, which owns the StatusNotifierWatcher, and the
window manager is openbox. Everything runs on a private bus and in private folders and is ended in
reverse order.
"""

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

NEEDS_DESKTOP = pytest.mark.needs(
    "Xvfb", "dbus-daemon", "openbox", "xfce4-panel", "xdotool", "gdbus", "import"
)
"""The mark of every test that uses a ``real_desktop``."""
WATCHER = "org.kde.StatusNotifierWatcher"
_PAUSE = threading.Event()

PANEL = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
 <property name="configver" type="int" value="2"/>
 <property name="panels" type="array"><value type="int" value="1"/>
  <property name="panel-1" type="empty">
   <property name="position" type="string" value="p=6;x=0;y=0"/>
   <property name="position-locked" type="bool" value="true"/>
   <property name="length" type="uint" value="100"/><property name="size" type="uint" value="28"/>
   <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
  </property>
 </property>
 <property name="plugins" type="empty">
  <property name="plugin-1" type="string" value="systray">
   <property name="square-icons" type="bool" value="true"/></property>
 </property>
</channel>
"""


@dataclass
class RealDesktop:
    """One running desktop.

    Attributes:
        env: The environment with which a program appears on it.
        folder: Its private folders (home, runtime, config).
    """

    folder: Path
    env: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str, log: str) -> subprocess.Popen[bytes]:
        """Start a program on this desktop; its output goes to ``<folder>/<log>.log``."""
        with (self.folder / f"{log}.log").open("wb") as output:
            process = subprocess.Popen(
                command, env=self.env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.processes.append(process)
        return process

    def output(self, *command: str) -> str:
        """Run a program to its end and return its output ("" if it failed)."""
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    def windows(self, title: str) -> list[str]:
        """Return the ids of the visible windows whose title contains the text."""
        return self.output("xdotool", "search", "--onlyvisible", "--name", title).split()

    def tray_items(self) -> str:
        """Return the items that the tray host knows, as the bus prints them."""
        return self.output(
            "gdbus", "call", "--session", "--dest", WATCHER, "--object-path",
            "/StatusNotifierWatcher", "--method", "org.freedesktop.DBus.Properties.Get",
            WATCHER, "RegisteredStatusNotifierItems",
        )  # fmt: skip

    def wait_for(self, what: str, check: object, *, seconds: float = 60.0) -> None:
        """Poll until ``check()`` is true.

        Raises:
            AssertionError: It did not become true in time.
        """
        assert callable(check)
        for _ in range(int(seconds / 0.1)):
            if check():
                return
            _PAUSE.wait(0.1)
        logs = {
            path.name: path.read_text(errors="replace")[-1500:]
            for path in self.folder.glob("*.log")
        }
        raise AssertionError(f"{what} did not happen within {seconds} s; logs: {logs}")

    def screenshot(self, path: Path) -> None:
        """Save the whole screen as a picture."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.output("import", "-window", "root", str(path))


@contextlib.contextmanager
def real_desktop(*, tray: bool = True) -> Iterator[RealDesktop]:
    """Start a desktop, with or without a tray host, and end it afterwards."""
    # Services started by the bus may still write into the folder while it is removed.
    with tempfile.TemporaryDirectory(prefix="hermes-desk-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        env = _private_environment(folder)
        desktop = RealDesktop(folder, env)
        try:
            _start_display(desktop)
            desktop.env["DBUS_SESSION_BUS_ADDRESS"] = _start_bus(desktop)
            desktop.start("openbox", log="openbox")
            if tray:
                _start_panel(desktop)
            yield desktop
        finally:
            for process in reversed(desktop.processes):
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(60)
                process.kill()
                process.wait()


def _private_environment(folder: Path) -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL") if key in os.environ}
    places = {
        "HOME": folder / "home",
        "XDG_RUNTIME_DIR": folder / "run",
        "XDG_CONFIG_HOME": folder / "config",
        "XDG_DATA_HOME": folder / "data",
        "XDG_CACHE_HOME": folder / "cache",
        "XDG_STATE_HOME": folder / "state",
    }
    for place in places.values():
        place.mkdir(mode=0o700)
    return {
        **kept,
        **{key: str(place) for key, place in places.items()},
        "XDG_CURRENT_DESKTOP": "XFCE",
        "XDG_SESSION_TYPE": "x11",
        "QT_QPA_PLATFORM": "xcb",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _start_display(desktop: RealDesktop) -> None:
    """Start the X server, which selects a free number and writes it to a pipe."""
    reading, writing = os.pipe()
    with (desktop.folder / "xvfb.log").open("wb") as output:
        process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
            pass_fds=(writing,), env=desktop.env, stdout=output, stderr=output,
        )  # fmt: skip
    os.close(writing)
    desktop.processes.append(process)
    with os.fdopen(reading) as pipe:
        desktop.env["DISPLAY"] = f":{pipe.readline().strip()}"


def _start_bus(desktop: RealDesktop) -> str:
    process = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address=1"],
        env=desktop.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    desktop.processes.append(process)  # type: ignore[arg-type]
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    process.stdout.close()
    return address


def _start_panel(desktop: RealDesktop) -> None:
    folder = Path(desktop.env["XDG_CONFIG_HOME"]) / "xfce4/xfconf/xfce-perchannel-xml"
    folder.mkdir(parents=True)
    (folder / "xfce4-panel.xml").write_text(PANEL, encoding="utf-8")
    desktop.start("xfce4-panel", "--disable-wm-check", log="panel")
    desktop.wait_for("a tray host", lambda: bool(desktop.tray_items()), seconds=60)
