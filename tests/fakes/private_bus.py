"""A private session bus with a real gnome-keyring: unlocked, locked, absent or hanging."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

_BUS = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={socket}</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>
"""
PASSWORD = b"a password"
NEEDS_KEYRING = pytest.mark.needs("dbus-daemon", "gnome-keyring-daemon", "gdbus", "secret-tool")
"""The mark of every test that opens a ``private_bus``."""


class PrivateBus:
    """A session bus, and the environment in which a program finds it and no other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "bus"
        self._processes: list[subprocess.Popen[bytes]] = []
        config = folder / "bus.conf"
        config.write_text(_BUS.format(socket=self.socket))
        daemon = self._start(
            "dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"
        )
        assert daemon.stdout is not None
        assert daemon.stdout.readline().startswith(b"unix:")

    def environ(self) -> dict[str, str]:
        return {
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.socket}",
            "XDG_RUNTIME_DIR": str(self.folder),
            "XDG_DATA_HOME": str(self.folder / "data"),
        }

    def unlocked(self) -> None:
        """Start a keyring that was unlocked at login."""
        self._keyring("--unlock", password=PASSWORD)
        self._until_open()

    def locked(self) -> None:
        """Restart it, as after a login that did not unlock it. There is no prompter."""
        self._end(self._processes.pop())
        self._keyring("--start")

    def hanging(self) -> None:
        """Suspend the keyring, so that it accepts requests and answers none."""
        self._processes[-1].send_signal(signal.SIGSTOP)

    def answering(self) -> None:
        """Let it answer again."""
        self._processes[-1].send_signal(signal.SIGCONT)

    def gone(self) -> None:
        """End the keyring, as in a crash."""
        self._end(self._processes.pop())

    def _keyring(self, how: str, password: bytes = b"") -> None:
        daemon = self._start(
            "gnome-keyring-daemon", how, "--foreground", "--components=secrets", stdin=True
        )
        assert daemon.stdin is not None
        daemon.stdin.write(password)
        daemon.stdin.close()
        subprocess.run(
            ["gdbus", "wait", "--session", "--timeout=60", "org.freedesktop.secrets"],
            check=True,
            env={**os.environ, **self.environ()},
        )

    def _until_open(self) -> None:
        """Wait until it is unlocked: it owns its bus name before it has tried the password."""
        asked = (
            *("gdbus", "call", "--session", "--dest", "org.freedesktop.secrets"),
            *("--object-path", "/org/freedesktop/secrets/aliases/default"),
            *("--method", "org.freedesktop.DBus.Properties.Get"),
            *("org.freedesktop.Secret.Collection", "Locked"),
        )
        for _ in range(200):
            done = subprocess.run(
                asked, capture_output=True, check=False, env={**os.environ, **self.environ()}
            )
            if b"false" in done.stdout:
                return
            threading.Event().wait(0.1)
        raise AssertionError(f"the keyring stays locked: {done.stdout!r} {done.stderr!r}")

    def _start(self, *words: str, stdin: bool = False) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environ()},
        )
        self._processes.append(process)
        return process

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
        if process.stdout is not None:
            process.stdout.close()

    def close(self) -> None:
        while self._processes:
            self._end(self._processes.pop())


@contextlib.contextmanager
def private_bus() -> Iterator[PrivateBus]:
    with tempfile.TemporaryDirectory(prefix="hermes-bus-", dir="/tmp") as name:
        bus = PrivateBus(Path(name))
        try:
            yield bus
        finally:
            bus.close()
