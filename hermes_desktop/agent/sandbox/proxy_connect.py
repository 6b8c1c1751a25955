"""Connects ssh to a host through the proxy of a sandbox; standard library only.

Run by ssh as ``python -I -S proxy_connect.py PORT HOST PORT [HINT]``. The hint is written before
the attempt. What the proxy answers is written to standard error if it refuses.
"""

import os
import selectors
import socket
import sys

_CHUNK = 65536


def main() -> int:
    """Connect, then pass bytes both ways until both ends have finished; return the exit code."""
    port, host, wanted = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    if len(sys.argv) > 4:  # noqa: PLR2004 - the hint
        sys.stderr.write(f"{sys.argv[4]}\n")
    name = f"[{host}]" if ":" in host else host
    with socket.create_connection(("127.0.0.1", port)) as proxy:
        proxy.sendall(f"CONNECT {name}:{wanted} HTTP/1.1\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            chunk = proxy.recv(_CHUNK)
            if not chunk:
                break
            answer += chunk
        head, _, rest = answer.partition(b"\r\n\r\n")
        if head.split(b" ")[1:2] != [b"200"]:
            while chunk := proxy.recv(_CHUNK):
                rest += chunk
            sys.stderr.write(rest.decode("utf-8", "replace") or "The proxy gave no answer.\n")
            return 1
        _write(rest)
        _carry(proxy)
    return 0


def _carry(proxy: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(proxy, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    chunk = os.read(0, _CHUNK)
                    if chunk:
                        proxy.sendall(chunk)
                    else:
                        selector.unregister(0)
                        proxy.shutdown(socket.SHUT_WR)
                    continue
                chunk = proxy.recv(_CHUNK)
                if not chunk:
                    return
                _write(chunk)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main())
