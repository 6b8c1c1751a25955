"""A client of ``hermes-desktop rpc``, which sends requests and receives events."""

import contextlib
import itertools
import json
import queue
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.fakes.program import Program

PATIENCE_S = 60.0
Frame = dict[str, Any]


class RpcError(AssertionError):
    """An error response of the server."""

    def __init__(self, error: Frame) -> None:
        super().__init__(str(error))
        self.code = error["code"]
        self.message = error["message"]


class RpcClient:
    """A client over any pair of a line writer and a line reader."""

    def __init__(self, write: Callable[[bytes], object], read_line: Callable[[], bytes]) -> None:
        self._write = write
        self._read_line = read_line
        self._numbers = itertools.count(1)
        self._inbox: queue.Queue[Frame | None] = queue.Queue()
        self._kept: list[Frame] = []
        self.frames: list[Frame] = []
        self._reader = threading.Thread(target=self._hear, daemon=True)
        self._reader.start()

    # ------------------------------------------------------------------------------------ requests

    def call(self, method: str, **params: Any) -> Any:
        """Call a method and return its result; raise an error response."""
        answer = self.answer(self.ask(method, **params))
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def code(self, method: str, **params: Any) -> int:
        """Call a method that must fail, and return the code of the error."""
        answer = self.answer(self.ask(method, **params))
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    def ask(self, method: str, **params: Any) -> int:
        number = next(self._numbers)
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(frame).encode() + b"\n")
        return number

    def send(self, data: bytes) -> None:
        self._write(data)

    # ----------------------------------------------------------------------------------- responses

    def answer(self, number: object) -> Frame:
        return self.wait(lambda frame: "method" not in frame and frame.get("id") == number)

    def event(self, kind: str, sid: str | None = None) -> Any:
        """Return the payload of the next event of that kind."""

        def fits(frame: Frame) -> bool:
            params = frame.get("params", {})
            return params.get("type") == kind and sid in {None, params.get("session_id")}

        return self.wait(fits)["params"].get("payload")

    def wait(self, fits: Callable[[Frame], bool]) -> Frame:
        """Return the first matching frame that was not returned before."""
        for at, frame in enumerate(self._kept):
            if fits(frame):
                return self._kept.pop(at)
        while True:
            try:
                found = self._inbox.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise AssertionError(f"nothing came; there are {self._kept}") from None
            if found is None:
                self._inbox.put(None)
                raise AssertionError(f"the server hung up; there are {self._kept}")
            if fits(found):
                return found
            self._kept.append(found)

    def rest(self) -> list[Frame]:
        """Return all frames until the server closes the connection."""
        self._reader.join(PATIENCE_S)
        assert not self._reader.is_alive()
        return self.frames

    def said(self, sid: str, text: str, **more: Any) -> Any:
        """Submit a prompt, and wait for the whole reply and until the session is free again.

        Other pending events are dropped.
        """
        self._kept.clear()
        assert self.call("prompt.submit", session_id=sid, text=text, **more)["status"] in {
            "streaming",
            "queued",  # just after the end of another reply; it is still answered
        }
        complete = self.event("message.complete", sid)
        while self.event("session.info", sid)["running"]:
            pass
        self._kept.clear()
        return complete

    def _hear(self) -> None:
        while line := self._read_line():
            frame = json.loads(line)
            self.frames.append(frame)
            self._inbox.put(frame)
        self._inbox.put(None)


class RpcProcess(RpcClient):
    """``hermes-desktop rpc`` on its standard streams."""

    def __init__(self, program: Program, *arguments: str) -> None:
        self.process = program.start("rpc", *arguments, stdin=subprocess.PIPE)
        assert self.process.stdout is not None
        super().__init__(self._to_stdin, self.process.stdout.readline)
        self._ready = self.event("gateway.ready")
        self.said_beside = b""

    def _to_stdin(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.end()

    def end(self) -> int:
        """Close the input and wait for the end; the text on standard error is kept."""
        if self.process.stdin is not None and self.process.stdin.closed:
            return self.process.wait(PATIENCE_S)
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.said_beside += self.process.stderr.read()
        self.process.stderr.close()
        return code


class SocketClient(RpcClient):
    """A connection to ``hermes-desktop rpc --socket``."""

    def __init__(self, path: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.connect(str(path))
        self._stream = self.connection.makefile("rb")
        super().__init__(self.connection.sendall, self._read)

    def _read(self) -> bytes:
        try:
            return self._stream.readline()
        except (OSError, ValueError):
            return b""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(PATIENCE_S)
        self._stream.close()
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
