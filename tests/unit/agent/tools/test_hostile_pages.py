"""Pages that are made to take time, memory or the turn away."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

import pytest

from hermes_desktop.agent.tools.web import web_fetch
from hermes_desktop.agent.tools.web.page_text import page_text
from hermes_desktop.agent.tools.web.web_fetch import public_address as really
from tests.fakes.tool_stage import ToolStage, call

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=%b\r\n%b\r\n"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _everything_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(_parts: SplitResult) -> str:
        return "127.0.0.1"

    monkeypatch.setattr(web_fetch, "public_address", here)


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Answers one request on loopback; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                try:
                    answer(connection)
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://example.test:{listening.getsockname()[1]}/"
        thread.join(60)
        assert not thread.is_alive()


def fetched(stage: ToolStage, answer: Callable[[socket.socket], object]) -> dict[str, Any]:
    with server(answer) as url:
        return stage.result(call("web_fetch", url=url))[0]


def whole(body: bytes, charset: bytes = b"utf-8", more: bytes = b"") -> Callable[..., object]:
    return lambda connection: connection.sendall(HEAD % (charset, more) + body)


@pytest.mark.parametrize("begun", [b"", HEAD % (b"utf-8", b"")])
def test_an_answer_that_never_ends(
    stage: ToolStage, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """In its head or in its body: a byte now and then is not silence, and no end."""
    monkeypatch.setattr(web_fetch, "_ALL_SECONDS", 0.5)

    def drip(connection: socket.socket) -> None:
        connection.sendall(begun or b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    assert "did not end" in fetched(stage, drip)["error"]


@pytest.mark.parametrize("leads_to", ["http://127.0.0.1:{}/", "//[::1]:{}/", "http://0x7f.1:{}/"])
def test_a_page_that_leads_to_this_machine(
    stage: ToolStage, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    def only_the_first(parts: SplitResult) -> str:
        return "127.0.0.1" if parts.hostname == "example.test" else really(parts)

    monkeypatch.setattr(web_fetch, "public_address", only_the_first)
    monkeypatch.setattr(web_fetch, "_PORTS", range(65536))
    with socket.create_server(("127.0.0.1", 0)) as own:
        own.settimeout(0.2)
        target = leads_to.format(own.getsockname()[1]).encode()
        head = b"HTTP/1.1 302 Found\r\nLocation: " + target + b"\r\nContent-Length: 0\r\n\r\n"
        got = fetched(stage, lambda connection: connection.sendall(head))
        assert "its network" in got["error"]
        with pytest.raises(TimeoutError):
            own.accept()


def test_a_page_that_leads_on_and_on(stage: ToolStage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as serving:
        heard: list[bytes] = []

        def serve() -> None:
            while len(heard) < 5:
                connection, _ = serving.accept()
                with connection:
                    heard.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://example.test:{serving.getsockname()[1]}/"
        assert "redirects too many times" in stage.result(call("web_fetch", url=url))[0]["error"]
        thread.join(60)
    assert len(heard) == 5


def test_a_page_that_unpacks_to_very_much(stage: ToolStage) -> None:
    packed = gzip.compress(b"word " * 10_000_000)
    got = fetched(stage, whole(packed, more=b"Content-Encoding: gzip\r\n"))
    assert got["cut"]
    assert got["content"].startswith("word word")


def test_a_page_that_is_packed_twice_is_not_unpacked(stage: ToolStage) -> None:
    packed = gzip.compress(gzip.compress(b"word"))
    got = fetched(stage, whole(packed, more=b"Content-Encoding: gzip, gzip\r\n"))
    assert "could not be fetched" in got["error"]


@pytest.mark.parametrize(
    "charset", [b"idna", b"punycode", b"undefined", b"unicode_escape", b"hex", b"nonsense"]
)
def test_a_charset_that_is_none(stage: ToolStage, charset: bytes) -> None:
    assert fetched(stage, whole("Grüße".encode(), charset))["content"] == "Grüße"


@pytest.mark.parametrize(
    "piece", ["<", "<!", "<a ", "<a a=", "&", "<!--", "</", "<?", "<![CDATA[", "<a b='", "&#",
              "<svg></head>", "<svg>", '<p "', "<script></scrip"],
)  # fmt: skip
def test_a_page_that_is_made_to_take_long(piece: str) -> None:
    """``html.parser`` needs minutes to hours for most of these; the limit of a test ends it."""
    page_text(piece * 500_000)


def test_a_number_with_thousands_of_digits_is_no_character() -> None:
    assert page_text(f"<p>&#{'1' * 5000};</p>").startswith("&#111")


def test_marks_of_a_page_that_are_none() -> None:
    page = (
        "<!DOCTYPE html><!-- <p>no</p> --><!--><p title='a > b'>1 < 2 &lt; 3</p>"
        '<SCRIPT>if (a</script.length) "<p>no</p>"</Script ><?php no ?>'
        '<svg><title>no</title></svg><a href="x>y">link</a></ p>end<p'
    )
    assert page_text(page) == "1 < 2 < 3\nlinkend"
