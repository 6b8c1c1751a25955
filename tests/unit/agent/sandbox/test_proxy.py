"""The filtering proxy: granted hosts by name, public addresses only."""

import socket
import threading
from collections.abc import Iterator

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.proxy import FilteringProxy
from hermes_desktop.core.public_addresses import is_public
from tests.fakes.tool_stage import ToolStage, call


@pytest.fixture
def site() -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers one line and keeps what it was sent; its port."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    inside, _ = listening.accept()
                except OSError:
                    return
                with inside:
                    seen.append(inside.recv(65536))
                    inside.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], seen
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def asked(proxy: FilteringProxy, request: bytes, more: bytes = b"") -> bytes:
    """Send a request through a proxy, as a command in a sandbox does; return the whole answer."""
    with proxy.serving() as theirs, socket.create_server(("127.0.0.1", 0)) as listening:
        socket.send_fds(theirs, [b"l"], [listening.fileno()])
        with socket.create_connection(listening.getsockname(), 60) as inside:
            inside.sendall(request)
            answer = b""
            if more:
                answer = inside.recv(65536)
                inside.sendall(more)
            while chunk := inside.recv(65536):
                answer += chunk
            return answer


def to_site(hosts: tuple[str, ...]) -> FilteringProxy:
    return FilteringProxy(hosts, resolver=lambda _h, _p: ["127.0.0.1"], may_connect=lambda _a: True)


def test_a_granted_host_answers(site: tuple[int, list[bytes]]) -> None:
    port, seen = site
    request = (
        f"GET http://Good.example:{port}/a?b=c HTTP/1.1\r\nHost: other.example\r\n"
        "Proxy-Authorization: x\r\nAccept: */*\r\n\r\n"
    )
    answer = asked(to_site(("good.example",)), request.encode())

    assert answer.endswith(b"\r\n\r\nhi")
    [head] = seen
    assert head.startswith(f"GET /a?b=c HTTP/1.1\r\nHost: Good.example:{port}\r\n".encode())
    assert b"other.example" not in head
    assert b"Proxy" not in head


def test_a_granted_host_is_connected_to(site: tuple[int, list[bytes]]) -> None:
    port, seen = site
    request = f"CONNECT a.good.example:{port} HTTP/1.1\r\n\r\n".encode()
    answer = asked(to_site(("*.good.example",)), request, b"hello")

    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert answer.endswith(b"hi")
    assert seen == [b"hello"]


@pytest.mark.parametrize(
    "host", ["bad.example", "good.example.evil", "notgood.example", "127.0.0.1", "[::1]"]
)
def test_other_hosts_are_refused_and_named(site: tuple[int, list[bytes]], host: str) -> None:
    proxy = to_site(("good.example", "*.sub.example"))
    answer = asked(proxy, f"CONNECT {host}:{site[0]} HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 403")
    assert proxy.denied() == {host.strip("[]")}
    assert site[1] == []


def test_a_granted_name_with_a_private_address_is_refused(site: tuple[int, list[bytes]]) -> None:
    proxy = FilteringProxy((), everything=True, resolver=lambda _h, _p: ["127.0.0.1", "10.0.0.1"])
    answer = asked(proxy, f"CONNECT rebound.example:{site[0]} HTTP/1.1\r\n\r\n".encode())

    assert b"no public address" in answer
    assert site[1] == []


@pytest.mark.parametrize(
    "request_line",
    ["GET / HTTP/1.1", "GET ftp://good.example/ HTTP/1.1", "GET http://u:p@good.example/ HTTP/1.1"],
)
def test_what_is_no_http_is_refused(request_line: str) -> None:
    answer = asked(to_site(("good.example",)), f"{request_line}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("::1", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "224.0.0.1"),
        *("2002:a00:1::", "nonsense"),
    ],
)
def test_private_addresses(address: str) -> None:
    assert not is_public(address)


def test_public_addresses() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")


@pytest.mark.needs("sandbox")
def test_a_command_reaches_the_proxy_and_a_refused_host_is_named(closed: ToolStage) -> None:
    closed.config["terminal"] = {"allowed_hosts": ["good.example"]}
    code = (
        "import urllib.request, urllib.error\n"
        "try: urllib.request.urlopen('http://bad.example/', timeout=30)\n"
        "except urllib.error.HTTPError as error:\n"
        "    print(error.code, error.read())\n"
        "    raise SystemExit(3)\n"
    )
    (closed.cwd / "try.py").write_text(code)
    [answer] = closed.result(call("terminal", command="/usr/bin/python3 try.py; exit $?"))

    assert answer["output"].startswith("403 b'bad.example is not granted")
    assert answer["not_granted"] == ["host bad.example"]
    assert closed.level is Level.CLOSED
