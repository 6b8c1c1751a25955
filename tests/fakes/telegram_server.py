"""A small server of the Bot API, for cases that the independent emulator does not support.

    async with telegram_server() as telegram:
        telegram.token_is_good = False          # 401
        telegram.refuse("sendMessage", 429, "Too Many Requests", retry_after=1)
        telegram.drop("sendMessage")            # carried out, and the connection breaks
        telegram.page("sendMessage", 403)       # an intermediary answers with a page
        telegram.forgets = False                # delivers everything again and again
        telegram.say("hi"); telegram.messages

It detects edits without changes (400 "message is not modified"), missing messages, invalid
entities, and concurrent polls, of which the second ends the first with a conflict.
"""

import asyncio
import contextlib
import itertools
import json
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from tests.fakes.bot_api_emulator import TOKEN

BOT = {"id": 7, "is_bot": True, "first_name": "Our Bot", "username": "our_bot"}


class TelegramServer:
    """The server. Runs on the test's loop.

    Attributes:
        calls: Method and fields of all requests.
        messages: The messages in the chats, by id.
        hangs_up: Whether every connection breaks before the request is processed.
        forgets: Whether acknowledged updates are dropped.
        cuts: By name of a file: how often fetching it ends half way.
        drips: Whether the second half of such a file is sent byte by byte instead.
    """

    def __init__(self) -> None:
        self.port = 0
        self.token_is_good = True
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.messages: dict[int, dict[str, Any]] = {}
        self.commands: list[dict[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.updates: list[dict[str, Any]] = []
        self.forgets = True
        self.hangs_up = False
        self.cuts: Counter[str] = Counter()
        self.drips = False
        self._refusals: dict[str, deque[tuple[int, Any] | None]] = defaultdict(deque)
        self._ids = itertools.count(100)
        self._news = asyncio.Event()
        self._poll: asyncio.Event | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/bot"

    # Failures

    def refuse(self, method: str, code: int, words: str, **parameters: Any) -> None:
        """Refuse the next call of a method."""
        body = {"ok": False, "error_code": code, "description": words}
        more = {"parameters": parameters} if parameters else {}
        self._refusals[method].append((code, body | more))

    def page(self, method: str, code: int, body: str = "<html>Please log in</html>") -> None:
        """Answer the next call of a method with a body that is not the Bot API's."""
        self._refusals[method].append((code, body))

    def answer(self, method: str, body: Any) -> None:
        """Answer the next call of a method with this body and status 200."""
        self._refusals[method].append((200, body))

    def forget_faults(self) -> None:
        """Remove all scripted failures."""
        self._refusals.clear()

    def drop(self, method: str) -> None:
        """Carry out the next call of a method, and break the connection."""
        self._refusals[method].append(None)

    # Senders

    def say(self, text: str, chat: int = 42, **more: Any) -> None:
        person = {"id": 42, "is_bot": False, "first_name": "Alice"}
        message = {
            "message_id": next(self._ids),
            "date": 1,
            "chat": {"id": chat, "type": "private" if chat > 0 else "supergroup"},
            "from": person,
            "text": text,
            **more,
        }
        self.update(message=message)

    def press(self, data: str, user: int = 42) -> None:
        self.update(
            callback_query={
                "id": str(next(self._ids)),
                "from": {"id": user, "is_bot": False, "first_name": "Alice"},
                "message": {"message_id": 1, "date": 1, "chat": {"id": 42, "type": "private"}},
                "chat_instance": "1",
                "data": data,
            }
        )

    def update(self, **update: Any) -> None:
        self.updates.append({"update_id": next(self._ids), **update})
        self._news.set()

    # State

    def texts(self) -> list[str]:
        return [message["text"] for message in self.messages.values()]

    def called(self, method: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.calls if name == method]

    # The server

    async def handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if request.match_info["token"] != TOKEN or not self.token_is_good:
            return web.json_response(
                {"ok": False, "error_code": 401, "description": "Unauthorized"}, status=401
            )
        fields = {name: _value(value) for name, value in (await request.post()).items()}
        if self.hangs_up and request.transport is not None:
            request.transport.abort()
            return web.Response()
        self.calls.append((method, fields))
        fault = self._refusals[method].popleft() if self._refusals[method] else False
        if fault:
            code, body = fault
            if isinstance(body, str):
                return web.Response(text=body, content_type="text/html", status=code)
            return web.json_response(body, status=code)
        code, result = await self._answer(method, fields)
        if fault is None and request.transport is not None:
            request.transport.abort()
        if code != 200:
            body = {"ok": False, "error_code": code, "description": result}
            return web.json_response(body, status=code)
        return web.json_response({"ok": True, "result": result})

    async def _answer(self, method: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if method == "getUpdates":
            return await self._get_updates(fields)
        if method == "sendMessage":
            return self._place(next(self._ids), fields)
        if method == "editMessageText":
            return self._edit(fields)
        return 200, self._told(method, fields)

    def _told(self, method: str, fields: dict[str, Any]) -> Any:
        if method == "getMe":
            return BOT
        if method == "deleteMessage":
            return self.messages.pop(int(fields["message_id"]), None) is not None
        if method == "getMyCommands":
            return self.commands
        if method == "setMyCommands":
            self.commands = json.loads(fields["commands"])
        if method == "getFile":
            name = fields["file_id"]
            return {"file_id": name, "file_unique_id": name, "file_path": f"files/{name}"}
        return True

    def _edit(self, fields: dict[str, Any]) -> tuple[int, Any]:
        number = int(fields["message_id"])
        before = self.messages.get(number)
        if before is None:
            return 400, "Bad Request: message to edit not found"
        if (before["text"], before["entities"]) == (fields["text"], fields.get("entities", "[]")):
            return 400, "Bad Request: message is not modified: specified new message content and…"
        return self._place(number, fields)

    def _place(self, number: int, fields: dict[str, Any]) -> tuple[int, Any]:
        length = len(fields["text"].encode("utf-16-le")) // 2
        if length > 4096:
            return 400, "Bad Request: message is too long"
        for entity in json.loads(fields.get("entities", "[]")):
            if entity["offset"] + entity["length"] > length:
                return 400, "Bad Request: can't parse entities: entity is out of the text"
        self.messages[number] = {"entities": "[]", **fields}
        chat = {"id": int(fields["chat_id"]), "type": "private"}
        return 200, {"message_id": number, "date": 1, "chat": chat, "text": fields["text"]}

    async def _get_updates(self, fields: dict[str, Any]) -> tuple[int, Any]:
        if self._poll is not None:
            self._poll.set()
        ended = self._poll = asyncio.Event()
        offset = int(fields.get("offset", 0))
        if self.forgets:
            self.updates = [each for each in self.updates if each["update_id"] >= offset]
        loop = asyncio.get_running_loop()
        until = loop.time() + float(fields.get("timeout", 0))
        try:
            while not self.updates and loop.time() < until:
                self._news.clear()
                waits = {
                    asyncio.ensure_future(self._news.wait()),
                    asyncio.ensure_future(ended.wait()),
                }
                await asyncio.wait(
                    waits, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED
                )
                for each in waits:
                    each.cancel()
                if ended.is_set():
                    return 409, "Conflict: terminated by other getUpdates request"
            return 200, self.updates[: int(fields.get("limit", 100))]
        finally:
            if self._poll is ended:
                self._poll = None

    async def download(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        data = self.files.get(name)
        if data is None:
            return web.Response(text="<html>Not Found</html>", status=404)
        if not self.cuts[name]:
            return web.Response(body=data)
        self.cuts[name] -= 1
        answer = web.StreamResponse(headers={"Content-Length": str(len(data))})
        await answer.prepare(request)
        await answer.write(data[: len(data) // 2])
        if self.drips:
            for byte in data[len(data) // 2 :]:
                await asyncio.sleep(0.1)
                await answer.write(bytes([byte]))
        if request.transport is not None:
            request.transport.abort()
        return answer


def _value(value: Any) -> Any:
    return value if isinstance(value, str) else value.file.read()


@contextlib.asynccontextmanager
async def telegram_server() -> AsyncIterator[TelegramServer]:
    """Run the server on a free port during the block."""
    server = TelegramServer()
    app = web.Application()
    app.router.add_post("/bot{token}/{method}", server.handle)
    app.router.add_get("/file/bot{token}/files/{name}", server.download)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
