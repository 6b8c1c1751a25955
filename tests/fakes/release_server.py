"""A server on loopback that offers one release feed and records what it was asked."""

import http.server
import json
import threading
from typing import Any, Self


class _Handler(http.server.BaseHTTPRequestHandler):
    owner: "ReleaseServer"

    def do_GET(self) -> None:
        owner = self.owner
        owner.requests.append({name.lower(): value for name, value in self.headers.items()})
        status, answer = owner.answer if isinstance(owner.answer, tuple) else (200, owner.answer)
        if isinstance(answer, str):
            self._never_end(drip=answer == "drip")
            return
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response_only(status)
        for name, value in {**owner.headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _never_end(self, *, drip: bool) -> None:
        if drip:
            self.send_response_only(200)
            self.end_headers()
        try:
            while not self.owner.closing.wait(0.02):
                if drip:
                    self.wfile.write(b" ")
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


class ReleaseServer:
    """Use as a context manager.

    Args:
        answer: What it answers: JSON, bytes, ``(status, those)``, or a server that does not answer
            (``"hang"``) or never ends (``"drip"``).

    Attributes:
        requests: The headers of each request, names in lower case.
        headers: Further headers of its answers.
    """

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[dict[str, str]] = []
        self.headers: dict[str, str] = {}
        self.closing = threading.Event()
        kind = type("H", (_Handler,), {"owner": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/feed.json"

    def close(self) -> None:
        """Stop it; idempotent."""
        if not self.closing.is_set():
            self.closing.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
