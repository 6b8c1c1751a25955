"""Who shows tray icons is followed on a private bus, with a real name that comes and goes."""

import subprocess
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from PySide6.QtDBus import QDBusConnection, QDBusMessage

from hermes_desktop.ui.shell.tray_host_watch import WATCHER, TrayHostWatch
from tests.support.waiting import until

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.needs("dbus-daemon"),
]


@pytest.fixture
def bus_address() -> Iterator[str]:
    """A session bus of our own."""
    process = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(60)
    process.stdout.close()


@pytest.fixture
def ends(qapp, bus_address):
    """Our end of the bus, and that of the desktop."""
    names = ("ours", "desktop")
    yield [QDBusConnection.connectToBus(bus_address, name) for name in names]
    for name in names:
        QDBusConnection.disconnectFromBus(name)


async def test_a_host_that_comes_speaks_or_goes_is_looked_at_at_once(ends) -> None:
    ours, desktop = ends
    owner = QObject()
    watch = TrayHostWatch(ours, owner)
    looks: list[int] = []
    watch.may_have_changed.connect(lambda: looks.append(1))
    assert desktop.registerService(WATCHER)
    await until(lambda: len(looks) == 1)
    said = QDBusMessage.createSignal(
        "/StatusNotifierWatcher", WATCHER, "StatusNotifierHostRegistered"
    )
    assert desktop.send(said)
    await until(lambda: len(looks) == 2)
    assert desktop.unregisterService(WATCHER)
    await until(lambda: len(looks) == 3)
    watch.close()
    owner.deleteLater()


async def test_it_is_asked_often_only_at_first(qapp) -> None:
    owner = QObject()
    watch = TrayHostWatch(QDBusConnection("nobody"), owner)
    assert watch._timer.interval() == 2_000
    looks: list[int] = []
    watch.may_have_changed.connect(lambda: looks.append(1))
    for _ in range(15):
        watch.look()
    assert len(looks) == 15
    assert watch._timer.interval() == 60_000
    watch.close()
    owner.deleteLater()
