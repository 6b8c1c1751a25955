"""A small OpenAI-compatible server on loopback whose every byte can be scripted.

As a context manager inside a test::

    with ModelServer() as server:
        server.script(text("Hello there"))
        ...
        server.requests[-1].messages

Without a script it repeats the last user message. As a separate process, for tests with two
processes: ``python -m tests.fakes.model_server --port 0``; it prints its address as one line of
JSON and lists its requests at ``GET /requests``.
"""

import argparse
import contextlib
import http.server
import json
import select
import socket
import ssl
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

Step = bytes | float | str
"""Bytes to send; seconds to wait; "hang" until client or server closes; "cut" the connection."""

HANG = "hang"
CUT = "cut"


@dataclass(frozen=True)
class Reply:
    """One scripted answer: a head, and steps for the body."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    before_head: Sequence[Step] = ()


@dataclass
class Recorded:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    client_gone: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.json["messages"])


Responder = Callable[[Recorded], Reply]


# ------------------------------------------------------------------------------- replies


def chunk(
    content: str | None = None,
    *,
    reasoning: str | None = None,
    finish: str | None = None,
    usage: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Return one chunk of a streamed completion."""
    delta: dict[str, Any] = {}
    if content is not None:
        delta["content"] = content
    if reasoning is not None:
        delta["reasoning_content"] = reasoning
    payload: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "fake-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    if usage is not None:
        payload["choices"] = []
        payload["usage"] = _usage(usage)
    return payload


def event(payload: Any) -> bytes:
    """Return one server-sent event."""
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return f"data: {data}\n\n".encode()


def text(
    reply: str | Sequence[str],
    *,
    delay: float = 0.0,
    reasoning: Sequence[str] = (),
    usage: tuple[int, int] | None = (11, 7),
    finish: str = "stop",
) -> Reply:
    """Return a streamed reply: in words, or in the given pieces."""
    pieces = split_words(reply) if isinstance(reply, str) else list(reply)
    events = [event(chunk(reasoning=each)) for each in reasoning]
    events += [event(chunk(each)) for each in pieces]
    events.append(event(chunk(finish=finish)))
    if usage is not None:
        events.append(event(chunk(usage=usage)))
    events.append(event("[DONE]"))
    steps: list[Step] = []
    for each in events:
        steps += [each, delay] if delay else [each]
    return Reply(steps)


def tool_call(name: str, said: str = "", **arguments: Any) -> Reply:
    """Return a streamed reply that ends with a tool call, its arguments in two pieces."""
    written = json.dumps(arguments)
    half = len(written) // 2
    function = {"name": name, "arguments": written[:half]}
    call = {"index": 0, "id": f"call_{name}", "type": "function", "function": function}
    begun, rest, end = (chunk(said or None), chunk(), chunk(finish="tool_calls"))
    begun["choices"][0]["delta"]["tool_calls"] = [call]
    rest["choices"][0]["delta"]["tool_calls"] = [
        {"index": 0, "function": {"arguments": written[half:]}}
    ]
    return Reply([event(begun), event(rest), event(end), event("[DONE]")])


def raw(pieces: Iterable[Step], *, content_type: str = "text/event-stream") -> Reply:
    """Return exactly these bytes in exactly these pieces."""
    return Reply(list(pieces), content_type=content_type)


def cut_after(reply: str, words: int) -> Reply:
    """Return a streamed reply whose connection breaks after some words."""
    return Reply([*(event(chunk(each)) for each in split_words(reply)[:words]), 0.02, CUT])


def ends_early(reply: str) -> Reply:
    """Return a stream that ends normally, but without the final event of a reply."""
    return Reply([event(chunk(each)) for each in split_words(reply)])


def hang(first: str = "") -> Reply:
    """Return a reply that stops after this text without ending; with "" even without a head."""
    if first:
        return Reply([event(chunk(first)), HANG])
    return Reply(before_head=(HANG,))


def drop() -> Reply:
    """Close the connection instead of answering."""
    return Reply(before_head=(CUT,))


def error(
    status: int,
    message: str = "It failed.",
    *,
    code: str | None = None,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return an error in OpenAI's format."""
    payload = {"error": {"message": message, "type": kind, "code": code, "param": None}}
    body = json.dumps(payload).encode()
    return Reply([body], status, headers or {}, "application/json")


def html(status: int = 200, title: str = "Welcome") -> Reply:
    """Return a page for a browser."""
    page = f"<!DOCTYPE html><html><head><title>{title}</title></head><body>Hi</body></html>"
    return Reply([page.encode()], status, {}, "text/html; charset=utf-8")


def whole(reply: str, *, reasoning: str | None = None) -> Reply:
    """Return a completion in one piece of JSON, regardless of the request."""
    message = {"role": "assistant", "content": reply}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    payload = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _usage((11, 7)),
    }
    return Reply([json.dumps(payload).encode()], content_type="application/json")


def echo(request: Recorded) -> Reply:
    """Return a reply that repeats the last user message."""
    said = [each["content"] for each in request.messages if each["role"] == "user"]
    return text(f"You said: {said[-1] if said else 'nothing'}")


def split_words(reply: str) -> list[str]:
    """Split a text into pieces that yield it again when joined."""
    words = reply.split(" ")
    return [word if at == 0 else f" {word}" for at, word in enumerate(words)]


def _usage(usage: tuple[int, int]) -> dict[str, Any]:
    prompt, completion = usage
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


# ------------------------------------------------------------------------------------ the server


class ModelServer:
    """Answers on 127.0.0.1 until closed.

    Args:
        port: 0 selects a free one.
        responder: Answers requests for which no script is left.
        tls: Serves HTTPS with this context.

    Attributes:
        naming: Requests for session titles, which are answered separately from the others.
        name: The answer to those; "" gives no title.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        responder: Responder = echo,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.responder = responder
        self.requests: list[Recorded] = []
        self.naming: list[Recorded] = []
        self.name = ""
        self.closing = threading.Event()
        self._scripted: deque[Reply] = deque()
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", port), self, tls)
        self._scheme = "https" if tls else "http"
        self._thread = threading.Thread(target=self._serve, name="fake-model", daemon=True)

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://{self.host}/v1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def script(self, *replies: Reply) -> None:
        """Answer the next requests with these, in order."""
        with self._changed:
            self._scripted.extend(replies)

    def wait_for_requests(self, count: int, timeout: float = 20.0) -> list[Recorded]:
        """Block until this many requests have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.requests) >= count, timeout)
            if not arrived:
                raise AssertionError(f"{len(self.requests)} of {count} requests arrived")
            return list(self.requests)

    def answer(self, request: Recorded) -> Reply:
        with self._changed:
            if _asks_for_name(request):
                self.naming.append(request)
                self._changed.notify_all()
                return text(self.name)
            self.requests.append(request)
            self._changed.notify_all()
            if self._scripted:
                return self._scripted.popleft()
        return self.responder(request)

    def close(self) -> None:
        self.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)


def _asks_for_name(request: Recorded) -> bool:
    return b"You name conversations." in request.body[:600]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for the handlers
    block_on_close = True
    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], owner: ModelServer, tls: ssl.SSLContext | None
    ) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # the client disconnected before the request was complete: ignore it
            self.close_connection = True
            return
        request = Recorded(self.path, dict(self.headers.items()), body)
        self._say(request, self.server.owner.answer(request))

    def do_GET(self) -> None:
        if self.path == "/requests":
            seen = [
                {"path": each.path, "headers": dict(each.headers), "body": each.body.decode()}
                for each in self.server.owner.requests
            ]
            body = json.dumps(seen).encode()
        else:
            body = json.dumps({"object": "list", "data": [{"id": "fake-model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass

    def _say(self, request: Recorded, reply: Reply) -> None:
        self.close_connection = True
        for step in reply.before_head:
            if not self._step(request, step):
                return
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for step in reply.steps:
            if not self._step(request, step):
                return
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = False

    def _step(self, request: Recorded, step: Step) -> bool:
        """Run one step; False ends the connection."""
        if isinstance(step, bytes):
            if step:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(step), step))
                self.wfile.flush()
            return True
        if isinstance(step, float | int):
            self.server.owner.closing.wait(step)
            return not self.server.owner.closing.is_set()
        if step == HANG:
            self._hang(request)
        return False

    def _hang(self, request: Recorded) -> None:
        while not self.server.owner.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.02)
            if readable:
                with contextlib.suppress(OSError):
                    if socket.socket.recv(self.connection, 1, socket.MSG_PEEK):
                        continue
                request.client_gone.set()
                return


@contextlib.contextmanager
def refused_address() -> Iterator[str]:
    """Yield an address at which no server listens during the block."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--reply", help="say this instead of repeating what was said")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds between two words")
    options = parser.parse_args()

    def respond(request: Recorded) -> Reply:
        said = [each["content"] for each in request.messages if each["role"] == "user"]
        return text(options.reply or f"You said: {said[-1]}", delay=options.delay)

    with ModelServer(port=options.port, responder=respond) as server:
        print(json.dumps({"base_url": server.base_url}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
