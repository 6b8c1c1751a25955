"""A server on loopback with a given answer for each path, as a replacement of a model server."""

import http.server
import json
import threading
from typing import Any, Self

Answers = dict[str, Any]


class _Handler(http.server.BaseHTTPRequestHandler):
    owner: "LocalServerDouble"

    def do_GET(self) -> None:
        self._say()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._say()

    def _say(self) -> None:
        self.owner.asked.append(f"{self.command} {self.path}")
        self.owner.keys.append(self.headers.get("Authorization", ""))
        answer = self.owner.answers.get(self.path)
        status = 200 if answer is not None else 404
        if isinstance(answer, tuple):
            status, answer = answer
        if answer == "hang":
            self.owner.closing.wait(60)
            return
        body = answer if isinstance(answer, bytes) else json.dumps(answer or {}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


class LocalServerDouble:
    """Answers each path with JSON or bytes, or with (status, those); ``"hang"`` does not answer."""

    def __init__(self, answers: Answers | None = None) -> None:
        self.answers: Answers = answers or {}
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.closing = threading.Event()
        kind = type("H", (_Handler,), {"owner": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
        self.server.daemon_threads = False
        self.thread = threading.Thread(
            target=self.server.serve_forever, args=(0.02,), name="local-model"
        )
        self.thread.start()

    @property
    def port(self) -> int:
        return self.server.server_address[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
