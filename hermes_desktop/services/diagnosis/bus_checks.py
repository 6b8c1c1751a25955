"""Checks over the session bus of Linux: tray host, notification server, keyring.

Nothing is started on the bus and nothing is unlocked. A call has a time limit of its own, and the
check around it another.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis.findings import Finding, State
from hermes_desktop.services.secrets.secret_access import open_secrets
from hermes_desktop.settings.secrets import keyring_names

TRAY = "org.kde.StatusNotifierWatcher"
NOTIFICATIONS = "org.freedesktop.Notifications"
SECRETS = "org.freedesktop.secrets"
_ANSWER_S = 5.0
_LOGIN = "Log in to a desktop session, or start one: `dbus-run-session`."


class NoBusError(Exception):
    """There is no session bus, or it does not answer."""


class SilentBusError(NoBusError):
    """A program on the bus, or the bus, does not answer in time."""


class SessionBus:
    """A connection to the session bus. Any one thread; every method blocks for a bounded time."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def has_owner(self, name: str) -> bool:
        """Return whether a program owns a name."""
        return bool(self._ask_bus("NameHasOwner", "s", (name,)))

    def can_start(self, name: str) -> bool:
        """Return whether the bus would start a program for a name."""
        return name in (self._ask_bus("ListActivatableNames") or ())

    def read(self, name: str, path: str, interface: str, wanted: str) -> Any:
        """Return a property of an object; None where it has none."""
        from jeepney import DBusAddress, Properties  # noqa: PLC0415 - on Linux only

        address = DBusAddress(path, bus_name=name, interface=interface)
        answer = self._ask(Properties(address).get(wanted))
        return None if answer is None else answer[0][1]

    def server(self) -> tuple[str, ...] | None:
        """Return name, vendor and version of the notification server."""
        from jeepney import DBusAddress, new_method_call  # noqa: PLC0415

        address = DBusAddress("/org/freedesktop/Notifications", NOTIFICATIONS, NOTIFICATIONS)
        answer = self._ask(new_method_call(address, "GetServerInformation"))
        return None if answer is None else tuple(map(str, answer))

    def _ask_bus(self, method: str, signature: str = "", body: tuple[str, ...] = ()) -> Any:
        from jeepney import DBusAddress, new_method_call  # noqa: PLC0415

        name = "org.freedesktop.DBus"
        address = DBusAddress("/org/freedesktop/DBus", name, name)
        answer = self._ask(new_method_call(address, method, signature, body))
        return None if answer is None else answer[0]

    def _ask(self, message: Any) -> Any:
        """Return the body of the answer; None for an error."""
        from jeepney import MessageFlag, MessageType  # noqa: PLC0415

        message.header.flags |= MessageFlag.no_auto_start
        try:
            answer = self._connection.send_and_get_reply(message, timeout=_ANSWER_S)
        except TimeoutError as error:
            words = f"The session bus does not answer within {_ANSWER_S:g} s."
            raise SilentBusError(words) from error
        except (OSError, EOFError) as error:
            raise NoBusError("The session bus has ended the connection.") from error
        return None if answer.header.message_type is MessageType.error else answer.body


@contextlib.contextmanager
def session_bus(environ: Mapping[str, str]) -> Iterator[SessionBus]:
    """Connect to the session bus.

    Raises:
        NoBusError: There is none.
    """
    from jeepney.io.blocking import open_dbus_connection  # noqa: PLC0415

    address = environ.get("DBUS_SESSION_BUS_ADDRESS", "") or _usual_address(environ)
    if not address:
        raise NoBusError("There is no session bus.")
    try:
        connection = open_dbus_connection(address)
    except Exception as error:
        raise NoBusError("The session bus cannot be reached.") from error
    with contextlib.closing(connection):
        yield SessionBus(connection)


def _usual_address(environ: Mapping[str, str]) -> str:
    folder = environ.get("XDG_RUNTIME_DIR", "")
    socket = Path(folder, "bus")
    return f"unix:path={socket}" if folder and socket.exists() else ""


def check_tray(environ: Mapping[str, str]) -> Finding:
    """Find out whether a panel shows tray icons."""
    if not sys.platform.startswith("linux"):
        return Finding("Tray", "ok", "The system has a place for tray icons.")
    advice = (
        "Install or enable a tray: on GNOME the extension AppIndicator, on Sway or Hyprland the "
        "tray of waybar. Without one, closing the window asks what to do."
    )
    try:
        with session_bus(environ) as bus:
            if not bus.has_owner(TRAY):
                found = "No panel on the session bus has a tray. (Old trays of X11 are not seen.)"
                return Finding("Tray", "warning", found, advice)
            path = "/StatusNotifierWatcher"
            if bus.read(TRAY, path, TRAY, "IsStatusNotifierHostRegistered") is False:
                found = "A tray service is running, but no panel shows its icons."
                return Finding("Tray", "warning", found, advice)
    except NoBusError as error:
        return Finding("Tray", "warning", str(error), _LOGIN)
    return Finding("Tray", "ok", "A panel shows tray icons.")


def check_notifications(environ: Mapping[str, str]) -> Finding:
    """Find out which program shows notifications."""
    name = "Notifications"
    if not sys.platform.startswith("linux"):
        return Finding(name, "ok", "The system shows notifications.")
    try:
        with session_bus(environ) as bus:
            if bus.has_owner(NOTIFICATIONS):
                said = bus.server() or ("A program that does not name itself",)
                return Finding(name, "ok", f"{' '.join(said[:1])} shows them.")
            if bus.can_start(NOTIFICATIONS):
                return Finding(name, "ok", "The server starts with the first notification.")
    except NoBusError as error:
        return Finding(name, "warning", str(error), _LOGIN)
    advice = "Start a notification server, such as dunst or mako."
    return Finding(name, "warning", "No program shows notifications.", advice)


def check_keyring(paths: HermesPaths | None, environ: Mapping[str, str]) -> Finding:
    """Find out which keyring there is and whether it is locked; reads no secret."""
    names = keyring_names()
    stored = 0 if paths is None else len(open_secrets(paths, SystemClock()).store.names())
    holds = f"Secrets stored there by Hermes Desktop: {stored}."
    if not names:
        advice = (
            "Start gnome-keyring, KWallet or KeePassXC, or store secrets in the environment, in "
            "`.env`, or with `hermes-desktop secrets set NAME --plain`."
        )
        state: State = "error" if stored else "warning"
        return Finding("Keyring", state, f"There is no keyring. {holds}", advice)
    found = f"{', '.join(names)}."
    try:
        locked = _is_locked(environ) if sys.platform.startswith("linux") else None
    except SilentBusError:
        advice = "Check whether it is waiting for its password, and try again."
        return Finding("Keyring", "unknown", f"{found} It does not answer. {holds}", advice)
    if locked:
        return Finding("Keyring", "warning", f"{found} It is locked. {holds}", "Unlock it.")
    known = "" if locked is None else " It is unlocked."
    return Finding("Keyring", "ok", f"{found}{known} {holds}")


def _is_locked(environ: Mapping[str, str]) -> bool | None:
    """Return whether the default collection is locked; None if that cannot be determined.

    Raises:
        SilentBusError: The keyring does not answer.
    """
    try:
        with session_bus(environ) as bus:
            collection = "/org/freedesktop/secrets/aliases/default"
            kind = "org.freedesktop.Secret.Collection"
            locked = bus.read(SECRETS, collection, kind, "Locked")
    except SilentBusError:
        raise
    except NoBusError:
        return None
    return locked if isinstance(locked, bool) else None
