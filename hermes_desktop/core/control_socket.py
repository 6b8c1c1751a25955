"""Client of a gateway's control socket: asks for its identity. Blocks about a second at most."""

import contextlib
import json
import os
import socket
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.home_kind import Answer

NAME = "gateway.sock"
PATH_FILE = "gateway.sock.path"
"""File that contains the socket's path where the home's own path is too long for a socket."""
_ANSWER_S = 1.0
_MOST_BYTES = 256 * 1024
_QUESTION = b'{"protocol":1,"id":"hermes-desktop","verb":"identify","params":{}}\n'


def probe_gateway(
    home: Path, served: Path | None = None, *, monotonic: Callable[[], float] = time.monotonic
) -> Answer:
    """Determine which kind of gateway answers for a home.

    Args:
        home: The folder with the socket.
        served: The home in question, if it is a different one: a gateway may serve several.
        monotonic: The clock for the time-out.
    """
    found = socket_path(home)
    if found is None:
        return "none"
    try:
        result = _identify(found, monotonic)
    except (ConnectionRefusedError, FileNotFoundError):
        return "none"  # left behind by a gateway that has ended
    except (OSError, ValueError):
        return "unclear" if served is None else "none"
    if result.get("runtime_protocol") is None:
        return "older"
    return "newer" if _serves(result, home, served) else "none"


def socket_path(home: Path) -> Path | None:
    """Return the path of a home's control socket; None when there is none."""
    path = home / NAME
    if not _is_socket(path):
        try:
            path = Path((home / PATH_FILE).read_text(encoding="utf-8").strip())
        except (OSError, ValueError):
            return None
        if not path.is_absolute() or not _is_socket(path):
            return None
    return path


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - asked often, see connection
    except (OSError, ValueError):
        return False


def _identify(path: Path, monotonic: Callable[[], float]) -> Mapping[str, Any]:
    """Send one line and read one line.

    Raises:
        OSError: There is no answer, or not in time.
        ValueError: The answer is not understood.
    """
    end = monotonic() + _ANSWER_S
    received = b""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as peer:
        peer.settimeout(_ANSWER_S)
        peer.connect(str(path))
        peer.sendall(_QUESTION)
        while b"\n" not in received and len(received) < _MOST_BYTES:
            left = end - monotonic()
            if left <= 0:
                raise TimeoutError
            peer.settimeout(left)
            piece = peer.recv(65_536)
            if not piece:
                break
            received += piece
    answer = json.loads(received.split(b"\n", 1)[0])
    result = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(result, dict) or answer.get("ok") is not True:
        raise ValueError("no identity in the answer")
    return result


def _serves(result: Mapping[str, Any], home: Path, served: Path | None) -> bool:
    """Return whether the gateway reports that it writes the conversations of that home.

    A copied home still names the socket of the home it was copied from.
    """
    profiles = result.get("served_profiles")
    listed = profiles if isinstance(profiles, list) else []
    homes = [each.get("home") for each in listed if isinstance(each, dict)]
    if served is not None:
        return any(_same(each, served) for each in homes)
    named = result.get("hermes_home")
    return named is None or any(_same(each, home) for each in (named, *homes))


def _same(named: object, home: Path) -> bool:
    if not isinstance(named, str):
        return False
    try:
        return Path(named).resolve() == home.resolve()
    except (OSError, ValueError, RuntimeError):
        return False
