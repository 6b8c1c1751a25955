"""A small chat service on a real loopback socket: the server side of ``socket_platform``.

Runs on the test's loop (:class:`ChatServer`) or as a separate process that outlives its clients
(:class:`ChatProcess`). It keeps every message of a sender until the bot has acknowledged it, and
delivers it again at each connection, as real services do.

One JSON object per line, both ways. A bot sends ``hello`` with its token; a client that sends
``control`` instead may call the methods of :class:`ChatServer` named in ``_CONTROLS``.
"""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

_CONTROLS = ("say", "set", "drop", "refuse", "sent_texts", "look")


@dataclass
class Faults:
    """The failures of the service; they can be changed at any time.

    Attributes:
        silent: Nothing is sent, but connections stay open (a half-open connection).
        refuse_login: Every bot is refused with this code; ``bad_token`` is permanent.
        twice: Each message of a sender is delivered twice.
        send_delay_s: How long it takes to add a text to a chat.
        lose_receipts: For this many texts, the text is added to the chat, but the bot gets no
            receipt.
        hang_login: A connection is accepted, but never answered.
        bad_token: An unknown token.
        bad_login: A known token that must not log in.
    """

    silent: bool = False
    refuse_login: str = ""
    twice: bool = False
    send_delay_s: float = 0.0
    lose_receipts: int = 0
    hang_login: bool = False
    bad_token: str = ""
    bad_login: str = ""


@dataclass
class SentText:
    """A text that a bot added to a chat."""

    chat: str
    text: str
    id: str
    reply_to: str | None = None
    thread: str | None = None


@dataclass(eq=False)
class _Bot:
    writer: asyncio.StreamWriter
    delivered: set[str] = field(default_factory=set)

    def say(self, **message: Any) -> None:
        if not self.writer.is_closing():
            self.writer.write(json.dumps(message).encode() + b"\n")


class ChatServer:
    """The chat service. Tests create one with :func:`chat_server`.

    Attributes:
        pending: Messages of senders that no bot has acknowledged, by id, in order.
        acked: Ids that were acknowledged.
        sent: Texts that bots added to chats.
        refusals: Answers to the next texts, one each: ``kind``, ``error``, and optionally
            ``retryable`` and ``retry_after``; afterwards texts are accepted again.
        logins: How often a bot logged in; ``most_bots`` is the maximum number at the same time.
        tokens: The token of each of these logins.
        asked: The tokens that were checked without a login.
        tick_s: The interval of keep-alive messages to every bot.
    """

    def __init__(self, *, tick_s: float = 0.1) -> None:
        self.faults = Faults()
        self.tick_s = tick_s
        self.pending: dict[str, dict[str, Any]] = {}
        self.acked: list[str] = []
        self.sent: list[SentText] = []
        self.refusals: list[dict[str, Any]] = []
        self.edit_refusals: list[dict[str, Any]] = []
        self.edits = 0
        self.logins = 0
        self.tokens: list[str] = []
        self.asked: list[str] = []
        self.most_bots = 0
        self.port = 0
        self._bots: list[_Bot] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._said = 0
        self._sending = 0

    # Actions of senders and tests

    def say(
        self,
        text: str,
        *,
        chat: str = "c1",
        user: str = "u1",
        id: str = "",  # noqa: A002 - the word of the protocol
        thread: str | None = None,
        chat_type: str = "dm",
    ) -> str:
        """Send a message to the bots; return the message's id."""
        self._said += 1
        message_id = id or f"m{self._said}"
        self.pending[message_id] = {
            "type": "message",
            "id": message_id,
            "chat": chat,
            "chat_type": chat_type,
            "user": user,
            "thread": thread,
            "text": text,
            "at": time.time(),
        }
        for bot in self._bots:
            self._bring(bot, message_id)
        return message_id

    def bring_again(self) -> None:
        """Deliver unacknowledged messages again, although the connection still exists."""
        for bot in self._bots:
            bot.delivered.clear()
            self._bring_pending(bot)

    def set(self, **faults: Any) -> None:
        """Change :class:`Faults`; messages held back while silent are delivered afterwards."""
        known = {each.name for each in fields(Faults)}
        for name, value in faults.items():
            assert name in known, name
            setattr(self.faults, name, value)
        if not self.faults.silent:
            for bot in self._bots:
                self._bring_pending(bot)

    def refuse(self, kind: str, error: str = "no", **more: Any) -> None:
        """Refuse the next text."""
        self.refusals.append({"kind": kind, "error": error, **more})

    def drop(self) -> None:
        """Close the connections of all bots."""
        for bot in list(self._bots):
            bot.writer.close()

    def texts(self, chat: str | None = None) -> list[str]:
        """Return the texts in a chat, or in all."""
        return [each.text for each in self.sent if chat in {None, each.chat}]

    def sent_texts(self) -> list[dict[str, Any]]:
        return [asdict(each) for each in self.sent]

    def look(self) -> dict[str, Any]:
        return {
            "pending": list(self.pending),
            "acked": self.acked,
            "logins": self.logins,
            "tokens": self.tokens,
            "most_bots": self.most_bots,
            "bots": len(self._bots),
            "sending": self._sending,
        }

    # Start and stop

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
        self._keep(self._tick())

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        for bot in list(self._bots):
            bot.writer.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None
        await asyncio.sleep(0.01)  # the loop releases closed connections in its next iterations

    def _keep(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self.tick_s)
            if not self.faults.silent:
                for bot in self._bots:
                    bot.say(type="tick")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            first = json.loads(await reader.readline() or b"{}")
            if first.get("type") == "control":
                await self._serve_control(reader, writer)
            elif first.get("type") == "who_am_i":
                await self._tell_who(reader, _Bot(writer), str(first.get("token")))
            elif first.get("type") == "hello":
                await self._serve_bot(reader, _Bot(writer), str(first.get("token")))
        writer.close()

    async def _serve_control(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while line := await reader.readline():
            request = json.loads(line)
            assert request["call"] in _CONTROLS
            result = getattr(self, request["call"])(*request["args"], **request["kwargs"])
            writer.write(json.dumps(result).encode() + b"\n")

    async def _refused(self, reader: asyncio.StreamReader, bot: _Bot, token: str) -> bool:
        if self.faults.hang_login:
            await reader.read()
            return True
        code = self.faults.refuse_login
        if token and token == self.faults.bad_token:
            code = "bad_token"
        if code:
            bot.say(type="no", code=code)
        return bool(code)

    async def _tell_who(self, reader: asyncio.StreamReader, bot: _Bot, token: str) -> None:
        self.asked.append(token)
        if not await self._refused(reader, bot, token):
            bot.say(type="you", name=f"@bot-{token[-4:]}")

    async def _serve_bot(self, reader: asyncio.StreamReader, bot: _Bot, token: str) -> None:
        if token and token == self.faults.bad_login:
            bot.say(type="no", code="bad_token")
            return
        if await self._refused(reader, bot, token):
            return
        self.logins += 1
        self.tokens.append(token)
        self._bots.append(bot)
        self.most_bots = max(self.most_bots, len(self._bots))
        try:
            if not self.faults.silent:
                bot.say(type="welcome")
            self._bring_pending(bot)
            while line := await reader.readline():
                self._from_bot(bot, json.loads(line))
        finally:
            self._bots.remove(bot)

    def _from_bot(self, bot: _Bot, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "ack":
            if self.pending.pop(message["id"], None) is not None:
                self.acked.append(message["id"])
        elif kind == "ping" and not self.faults.silent:
            bot.say(type="pong", n=message["n"])
        elif kind == "send":
            self._keep(self._take_text(bot, message))
        elif kind == "edit":
            self._change_text(bot, message)

    def _change_text(self, bot: _Bot, message: dict[str, Any]) -> None:
        self.edits += 1
        found = next((each for each in self.sent if each.id == message["id"]), None)
        if self.edit_refusals:
            bot.say(type="refused", n=message["n"], **self.edit_refusals.pop(0))
        elif found is None:
            bot.say(type="refused", n=message["n"], error="no such message", kind="not_found")
        else:
            found.text = message["text"]
            bot.say(type="sent", n=message["n"], id=found.id)

    async def _take_text(self, bot: _Bot, message: dict[str, Any]) -> None:
        if self.faults.send_delay_s:
            self._sending += 1
            await asyncio.sleep(self.faults.send_delay_s)
            self._sending -= 1
        if self.refusals:
            bot.say(type="refused", n=message["n"], **self.refusals.pop(0))
            return
        text = SentText(
            message["chat"],
            message["text"],
            f"s{len(self.sent) + 1}",
            message.get("reply_to"),
            message.get("thread"),
        )
        self.sent.append(text)
        if self.faults.lose_receipts > 0:
            self.faults.lose_receipts -= 1
        elif not self.faults.silent:
            bot.say(type="sent", n=message["n"], id=text.id)

    def _bring_pending(self, bot: _Bot) -> None:
        for message_id in self.pending:
            self._bring(bot, message_id)

    def _bring(self, bot: _Bot, message_id: str) -> None:
        if self.faults.silent or message_id in bot.delivered:
            return
        bot.delivered.add(message_id)
        for _ in range(2 if self.faults.twice else 1):
            bot.say(**self.pending[message_id])


@contextlib.asynccontextmanager
async def chat_server(*, tick_s: float = 0.1) -> AsyncIterator[ChatServer]:
    """Run a service on the running loop."""
    server = ChatServer(tick_s=tick_s)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


class ChatProcess:
    """A service in a separate process, controlled by blocking calls of a few milliseconds."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.port = port
        self.process = process
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rw", encoding="utf-8")
        self._file.write('{"type": "control"}\n')

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the server.

        Args:
            name: One of ``say``, ``set``, ``drop``, ``refuse``, ``sent_texts`` and ``look``.
        """
        self._file.write(json.dumps({"call": name, "args": args, "kwargs": kwargs}) + "\n")
        self._file.flush()
        return json.loads(self._file.readline())

    def texts(self, chat: str | None = None) -> list[str]:
        """Return the texts in a chat, or in all."""
        sent = self.call("sent_texts")
        return [each["text"] for each in sent if chat in {None, each["chat"]}]

    def close(self) -> None:
        self._file.close()
        self._socket.close()
        self.process.terminate()
        self.process.communicate(timeout=60)


@contextlib.contextmanager
def chat_process() -> Iterator[ChatProcess]:
    """Run a service in a separate process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.socket_chat"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    chat = ChatProcess(process, int(process.stdout.readline()))
    try:
        yield chat
    finally:
        chat.close()


async def _run() -> None:
    server = ChatServer()
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run())
