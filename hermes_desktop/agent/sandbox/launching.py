"""Starting a command at the level that was decided before; never at a lower one."""

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox import landlock_start, proxy_connect, proxy_start
from hermes_desktop.agent.sandbox.bubblewrap import bubblewrap_command, find_bubblewrap
from hermes_desktop.agent.sandbox.grants import Grant, Level
from hermes_desktop.agent.sandbox.landlock import landlock_order, landlock_version
from hermes_desktop.agent.sandbox.macos import is_macos, macos_command
from hermes_desktop.agent.sandbox.own_places import Homes, refused
from hermes_desktop.agent.sandbox.private_folders import PrivateFolders, private_folders
from hermes_desktop.agent.sandbox.proxy import PORT, FilteringProxy
from hermes_desktop.agent.sandbox.seccomp import CLOSED, filter_bytes
from hermes_desktop.agent.sandbox.toolchains import environment

MOST_PROCESSES, MOST_DESCRIPTORS = 8192, 65_536
MOST_BYTES_OF_A_FILE = 16 * 1024**3
_BOUNDED = (
    "/bin/sh",
    "-c",
    f"""{{ ulimit -c 0
ulimit -f {MOST_BYTES_OF_A_FILE // 512}
ulimit -Hn {MOST_DESCRIPTORS} || ulimit -n {MOST_DESCRIPTORS}
ulimit -p {MOST_PROCESSES} || ulimit -u {MOST_PROCESSES}; }} 2>/dev/null
exec "$@\"""",
    "sh",
)
"""Bounds what a command may use, and becomes the command. A limit that is lower already stays, so
errors are dropped. Some shells name the number of processes ``-p``, others ``-u``."""
_LINGERING = (
    "/bin/sh",
    "-c",
    """trap : TERM
"$@"; code=$?
while :; do
  count=0
  for each in /proc/[0-9]*; do count=$((count + 1)); done
  [ "$count" -gt 2 ] || exit "$code"
  sleep 0.2
done""",
    "sh",
)
"""Runs a command in a process namespace until nothing of it is alive: bubblewrap would end what it
left running together with it. Besides the rest there are the first process and this shell, which
outlives the signal that asks the group to end: with it, everything would be killed at once."""


class SandboxError(OSError):
    """A sandbox cannot be set up, and so the command is not started."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a process is started with; valid while its context is open.

    Attributes:
        argv: Program and arguments, the sandbox included.
        environ: The complete environment.
        cwd: The working directory.
        descriptors: Open files that the sandbox needs; the command itself inherits none of them.
        denied: Returns the hosts that the command wanted and that were refused so far.
        is_wrapped: The first process only watches over the command; when it ends, so does
            everything that the command left running.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path
    descriptors: tuple[int, ...] = ()
    denied: Callable[[], frozenset[str]] = frozenset
    is_wrapped: bool = False


@contextlib.contextmanager
def unsandboxed(  # noqa: PLR0913 - as launch
    argv: Sequence[str],
    grant: Grant,  # noqa: ARG001
    level: Level,  # noqa: ARG001
    homes: Homes,  # noqa: ARG001
    *,
    environ: Mapping[str, str],
    cwd: Path,
    lingers: bool = False,  # noqa: ARG001
) -> Iterator[Launch]:
    """Start a command as it is, where the user has not chosen a sandbox."""
    yield Launch(tuple(argv), environ, cwd)


@contextlib.contextmanager
def launch(  # noqa: PLR0913 - what a start depends on
    argv: Sequence[str],
    grant: Grant,
    level: Level,
    homes: Homes,
    *,
    environ: Mapping[str, str],
    cwd: Path,
    lingers: bool = False,
) -> Iterator[Launch]:
    """Prepare the start of a command; keep the context open as long as the command runs.

    The thread that starts the process must live as long as the process: the kernel ends a command
    of level A together with that thread.

    Args:
        argv: Program and arguments.
        grant: What the command may reach.
        level: The level decided before. :attr:`Level.NONE` starts it as it is: only after the
            user's approval.
        homes: The folders to protect.
        environ: The environment without secrets; in a sandbox it is reduced further.
        cwd: The working directory.
        lingers: What the command leaves running is not ended with it.

    Raises:
        SandboxError: The sandbox cannot be set up.
    """
    if level is Level.NONE:
        yield Launch(tuple(argv), environ, cwd)
        return
    if wrong := refused(grant, homes):
        raise SandboxError(f"{wrong[0]} can never be granted.")
    try:
        with contextlib.ExitStack() as stack:
            renderer = _closed if level is Level.CLOSED else _partly_held
            if lingers and level is Level.CLOSED:
                argv = (*_LINGERING, *argv)
            yield renderer((*_BOUNDED, *argv), grant, homes, environ, cwd, stack)
    except ValueError as error:  # an architecture without a filter
        raise SandboxError(str(error)) from error


def _closed(
    argv: Sequence[str],
    grant: Grant,
    homes: Homes,
    environ: Mapping[str, str],
    cwd: Path,
    stack: contextlib.ExitStack,
) -> Launch:
    program = find_bubblewrap()
    if program is None:
        raise SandboxError("bubblewrap is missing; nothing was run.")
    own = private_folders(grant.folder, homes)
    seccomp = _file_of(filter_bytes(CLOSED), stack)
    cleaned = _variables(environ, own, Path("/tmp"))  # noqa: S108 - private
    cleaned["HOME"] = str(homes.user)
    if not grant.is_online:
        words = bubblewrap_command(program, grant, homes, own, cwd=cwd, seccomp=seccomp)
        return Launch((*words, "--", *argv), cleaned, cwd, (seccomp,), is_wrapped=True)
    python = interpreter()
    if python is None:
        raise SandboxError("There is no Python for the proxy; nothing was run.")
    proxy = FilteringProxy(grant.hosts, everything=grant.network)
    inside = stack.enter_context(proxy.serving()).fileno()
    script = Path(proxy_start.__file__).resolve()
    connector = Path(proxy_connect.__file__).resolve()
    words = bubblewrap_command(
        program, grant, homes, own, cwd=cwd, seccomp=seccomp, extra=(script, connector)
    )
    first = (str(python.resolve()), "-I", "-S", str(script), str(inside), str(PORT))
    cleaned |= proxy_variables()
    cleaned["GIT_SSH_COMMAND"] = ssh_command(python.resolve(), connector, grant, own.caches)
    return Launch(
        (*words, "--", *first, *argv),
        cleaned,
        cwd,
        (seccomp, inside),
        proxy.denied,
        is_wrapped=True,
    )


def proxy_variables() -> dict[str, str]:
    """Return the variables by which programs find the proxy inside."""
    address = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "all_proxy")
    both = {each: address for name in names for each in (name, name.upper())}
    return {
        **both,
        "no_proxy": "localhost,127.0.0.1,::1",
        "NO_PROXY": "localhost,127.0.0.1,::1",
        "NODE_USE_ENV_PROXY": "1",
    }


_NO_KEY = (
    "ssh has no key here. Use the https address of the repository, or have a key file of its own "
    "granted for reading."
)


def ssh_command(python: Path, connector: Path, grant: Grant, caches: Path) -> str:
    """Return ssh as git starts it: through the proxy, without an agent, with granted keys only.

    Args:
        python: The interpreter of the connector.
        connector: The path of ``proxy_connect.py``.
        grant: What the command may reach; every single file that it may read is tried as a key.
        caches: Where the keys of hosts are remembered.
    """
    keys = [str(each) for each in sorted(grant.read) if each.is_file()]
    own = [each.replace("%", "%%") for each in (str(python), "-I", "-S", str(connector))]
    words = [*own, str(PORT), "%h", "%p"]
    options = {
        "ProxyCommand": shlex.join(words if keys else [*words, _NO_KEY]),
        "UserKnownHostsFile": f'"{caches / "known_hosts"}"',
        "StrictHostKeyChecking": "accept-new",
        "BatchMode": "yes",
        "IdentityAgent": "none",
        "IdentitiesOnly": "yes",
    }
    named = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return shlex.join(["ssh", "-F", os.devnull, *named, *(w for key in keys for w in ("-i", key))])


def _partly_held(
    argv: Sequence[str],
    grant: Grant,
    homes: Homes,
    environ: Mapping[str, str],
    cwd: Path,
    stack: contextlib.ExitStack,
) -> Launch:
    if is_macos():
        own = private_folders(grant.folder, homes)
        variables = _variables(environ, own, own.temporary)
        return Launch(macos_command(argv, grant, homes, own), variables, cwd)
    python, abi = interpreter(), landlock_version()
    if python is None or not abi:
        raise SandboxError("Landlock is missing; nothing was run.")
    own = private_folders(grant.folder, homes)
    order = _file_of(landlock_order(argv, grant, homes, own, abi=abi), stack)
    script = str(Path(landlock_start.__file__).resolve())
    variables = _variables(environ, own, own.temporary)
    return Launch((str(python), "-I", "-S", script, str(order)), variables, cwd, (order,))


def _variables(environ: Mapping[str, str], own: PrivateFolders, temporary: Path) -> dict[str, str]:
    """Return the environment of a sandboxed command, with its private folders."""
    cleaned = environment(environ, temporary=str(temporary), caches=own.caches)
    return {**cleaned, "GIT_CONFIG_GLOBAL": str(own.git)}


def interpreter() -> Path | None:
    """Return a Python for our scripts; None if this program is frozen and there is no other."""
    if not getattr(sys, "frozen", False):
        return Path(sys.executable)
    system = Path("/usr/bin/python3")
    usable = os.access(system, os.X_OK) and Path(landlock_start.__file__).is_file()
    return system if usable else None


def _file_of(data: bytes, stack: contextlib.ExitStack) -> int:
    """Return a descriptor of a file in memory, at its beginning."""
    descriptor = os.memfd_create("sandbox")
    stack.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
