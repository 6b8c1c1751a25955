"""Telegram as implemented by an independent emulator of the Bot API (PyPI ``lo-bot-api-emulator``).

    with bot_api() as telegram:                       # a process of its own
        config = telegram_config(telegram.base_url)
        telegram.say("hello", chat=42)                 # a message by a sender
        assert telegram.texts(42) == ["reply 1"]       # the current content of the chat
        telegram.restart(); telegram.kill()

The emulator validates requests and keeps updates until they are acknowledged. It does not record
what was sent, so this starter does. What it does not support (401, 429, "message is not modified",
wrong entities) is in ``tests/fakes/telegram_server.py``.
"""

import contextlib
import itertools
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKEN = "123456:AAEmulatedTokenOfABotThatIsNone12345"
_CHECKOUT = Path(__file__).parents[2]
_UNKNOWN_TO_IT = frozenset({"link_preview_options"})
"""Parameters that the Bot API accepts and the emulator refuses with "not supported yet"."""


@dataclass(frozen=True)
class Call:
    """A successful request by the bot."""

    method: str
    fields: dict[str, Any]
    files: dict[str, int]
    result: Any


class BotApi:
    """The emulator as a process."""

    def __init__(self, port: int | None = None) -> None:
        self.port = port or _free_port()
        self._ids = itertools.count(1_000_001)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/bot"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.bot_api_emulator", str(self.port)],
            cwd=_CHECKOUT,
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                self.calls()
                return
            assert time.monotonic() < deadline, "the emulator did not start"
            assert self._process.poll() is None, "the emulator ended"
            time.sleep(0.02)

    def kill(self) -> None:
        """End the process; its state is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    # Senders

    def update(self, **update: Any) -> int:
        """Add an update; return its number."""
        body = {"token": TOKEN, "update": update}
        number = self._ask("/__fixture/updates", body)["result"]["update_id"]
        assert isinstance(number, int)
        return number

    def say(self, text: str, chat: int = 42, user: int | None = None, **more: Any) -> int:
        """Send a message to the bot; return its id."""
        number = next(self._ids)
        message = {
            "message_id": number,
            "date": int(time.time()),
            "chat": {"id": chat, "type": "private", "first_name": "Alice"},
            "from": {"id": user or chat, "is_bot": False, "first_name": "Alice"},
            **({"text": text} if text else {}),
            **more,
        }
        self.update(message=message)
        return number

    def press(self, data: str, chat: int = 42, user: int | None = None) -> None:
        """Press a button."""
        self.update(
            callback_query={
                "id": str(next(self._ids)),
                "from": {"id": user or chat, "is_bot": False, "first_name": "Alice"},
                "message": {
                    "message_id": 1,
                    "date": 1,
                    "chat": {"id": chat, "type": "private", "first_name": "Alice"},
                },
                "chat_instance": "1",
                "data": data,
            }
        )

    def file(self, name: str, data: bytes) -> str:
        """Add a file that a message can carry; return its id."""
        self._ask("/__file", {"name": name, "data": data.hex()})
        return name

    # State

    def calls(self, *methods: str) -> list[Call]:
        found = [Call(**each) for each in self._ask("/__calls")]
        return [each for each in found if not methods or each.method in methods]

    def messages(self, chat: int = 42) -> dict[int, str]:
        """Return the current messages of a chat by id."""
        standing: dict[int, str] = {}
        for call in self.calls():
            if str(call.fields.get("chat_id")) != str(chat):
                continue
            if call.method == "sendMessage":
                standing[call.result["message_id"]] = call.fields["text"]
            elif call.method == "editMessageText":
                standing[int(call.fields["message_id"])] = call.fields["text"]
            elif call.method == "deleteMessage":
                standing.pop(int(call.fields["message_id"]), None)
        return standing

    def texts(self, chat: int = 42) -> list[str]:
        return list(self.messages(chat).values())

    def pending(self) -> int:
        """Return how many updates are not acknowledged."""
        info = self._ask(f"/bot{TOKEN}/getWebhookInfo", {})
        number = info["result"]["pending_update_count"]
        assert isinstance(number, int)
        return number

    def _ask(self, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())


@contextlib.contextmanager
def bot_api() -> Iterator[BotApi]:
    """Run the emulator on a free port during the block."""
    telegram = BotApi()
    telegram.start()
    try:
        yield telegram
    finally:
        telegram.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def _serve(port: int) -> None:
    """Run the emulator in this process, with a record of its requests."""
    from aiohttp import web
    from lo_bot_api_emulator import LoBotApiEmulator

    calls: list[dict[str, Any]] = []

    class Remembering(LoBotApiEmulator):  # type: ignore[misc,unused-ignore]
        def validate(self, method: str, fields: Any, uploads: Any) -> Any:
            known = {name: value for name, value in fields.items() if name not in _UNKNOWN_TO_IT}
            result = super().validate(method, known, uploads)
            if method.startswith(("send", "edit", "delete", "answer", "set")):
                sizes = {name: upload["size"] for name, upload in uploads.items()}
                calls.append(
                    {"method": method, "fields": dict(fields), "files": sizes, "result": result}
                )
            return result

        def app(self) -> Any:
            app = super().app()
            app.router.add_get("/__calls", self.tell)
            app.router.add_post("/__file", self.keep)
            return app

        async def tell(self, _: Any) -> Any:
            return web.json_response(calls)

        async def keep(self, request: Any) -> Any:
            body = await request.json()
            data = bytes.fromhex(body["data"])
            self.assets[body["name"]] = {"filename": body["name"], "data": data, "size": len(data)}
            return web.json_response({})

    emulator = Remembering(enable_control=True, request_bytes=80_000_000)
    web.run_app(emulator.app(), host="127.0.0.1", port=port, access_log=None, print=None)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
