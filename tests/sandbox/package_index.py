"""A package index on the internet of a network namespace, and ``pip`` in the sandbox against it.

Run in a network and mount namespace of its own, with its rights of an administrator there:

    unshare --user --map-root-user --net --mount python -m tests.sandbox.package_index FOLDER

The namespace has one public address and a name that leads to it; nothing leaves the machine.
Prints one JSON object: for each set of granted hosts the exit code, output, refused hosts, and
whether the package was installed.
"""

import fcntl
import hashlib
import http.server
import json
import socket
import ssl
import struct
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import trustme

from hermes_desktop.agent.sandbox.grants import Grant, Level
from hermes_desktop.agent.sandbox.own_places import Homes
from tests.sandbox.running import run_at

ADDRESS, HOST, PACKAGE = "9.9.9.9", "packages.example.com", "tiny-example"
_SET_ADDRESS, _SET_FLAGS, _IS_UP = 0x8916, 0x8914, 0x1
WHEEL = "tiny_example-1.0-py3-none-any.whl"


def give_address() -> None:
    """Bring the loopback device up, with the public address besides its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", _IS_UP))
        address = struct.pack("16sH2x4s8x", b"lo:1", socket.AF_INET, socket.inet_aton(ADDRESS))
        fcntl.ioctl(control, _SET_ADDRESS, address)


def give_name(folder: Path) -> None:
    """Let the name lead to the address, for every program of this mount namespace."""
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} {HOST}\n")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


def wheel(folder: Path) -> Path:
    """Create a wheel with one module."""
    path = folder / WHEEL
    files = {
        "tiny_example.py": "ANSWER = 42\n",
        "tiny_example-1.0.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n"
        ),
        "tiny_example-1.0.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        "tiny_example-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def serve(folder: Path, ca: trustme.CA) -> None:
    """Serve a folder over TLS at the name, in a thread of this process."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            """Print nothing: standard output has the result."""

    server = http.server.ThreadingHTTPServer((ADDRESS, 443), Quiet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(HOST).configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def install(folder: Path, hosts: frozenset[str]) -> dict[str, object]:
    """Run ``pip install`` in the sandbox at level A, as the assistant's terminal does."""
    user, work = folder / "user", folder / f"work-{len(hosts)}"
    homes = Homes(user, user / ".hermes")
    for each in (homes.hermes, work):
        each.mkdir(parents=True, exist_ok=True)
    # The interpreter's packages, pip among them, lie in an environment of their own.
    grant = Grant(work, read=frozenset({Path(sys.prefix), folder / "ca.pem"}), hosts=hosts)
    options = ["--isolated", "--no-deps", "--no-input", "--retries", "0", "--target", "lib"]
    options += ["--cert", str(folder / "ca.pem"), "--index-url", f"https://{HOST}/simple/"]
    command = [sys.executable, "-m", "pip", "install", *options, PACKAGE]
    ended, denied = run_at(Level.CLOSED, command, grant, homes, timeout_s=120)
    installed = (work / "lib" / "tiny_example.py").is_file()
    output = (ended.out + ended.err).decode("utf-8", "replace")
    return {"code": ended.code, "output": output, "denied": sorted(denied), "installed": installed}


def main(folder: Path) -> None:
    """Serve the package, and install it with other hosts granted and with the right one."""
    give_address()
    give_name(folder)
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    files = folder / "index" / "simple" / PACKAGE
    files.mkdir(parents=True)
    digest = hashlib.sha256(wheel(files).read_bytes()).hexdigest()
    page = f'<!DOCTYPE html><a href="{WHEEL}#sha256={digest}">{WHEEL}</a>\n'
    (files / "index.html").write_text(page)
    serve(folder / "index", ca)
    granted = (frozenset({"elsewhere.example.com", "other.example.com"}), frozenset({HOST}))
    print(json.dumps([install(folder, hosts) for hosts in granted]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
