"""The Bot API in our terms, over python-telegram-bot. Imported late, on a worker thread.

All failures are raised as :class:`RefusalError`, :class:`NotSentError` or :class:`UncertainError`,
without the token, which is part of every address.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx
from telegram import Bot as LibraryBot
from telegram import (
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from telegram.error import NetworkError, TelegramError, TimedOut

from hermes_desktop.gateway.platforms.telegram.formatted import Formatted
from hermes_desktop.gateway.platforms.telegram.incoming import incoming
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions
from hermes_desktop.gateway.platforms.telegram.records import (
    Bot,
    Incoming,
    NotSentError,
    RefusalError,
    UncertainError,
)
from hermes_desktop.gateway.platforms.telegram.wire import (
    RefusedCallError,
    TelegramPollHttp,
    Wire,
    quiet,
)

log = logging.getLogger(__name__)

_INSIDES = re.compile(r"^(?:httpx\.\w+: )?(?:\[Errno -?\d+\] )?")
"""Prefix that the library puts before an error's description; useless to the user."""
BAD_ADDRESS = (httpx.InvalidURL, ValueError, RuntimeError)
"""Exceptions of the library for an address that it cannot parse."""
WANTED = ("message", "edited_message", "callback_query")
_BAD, _SERVER = 400, 500
_NONSENSE = (TypeError, KeyError, ValueError, AttributeError)
"""Exceptions of the library for a response that it cannot parse."""
_POLL_SPARE_S = 10.0
_FETCH_S = 60.0
_LABEL, _HALF_A_ROW = 60, 26
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class TelegramApi:
    """Calls of the Bot API. Created on a thread (it reads certificates), used on the loop.

    Args:
        token: The bot's token.
        options: Addresses and settings of the API.
    """

    def __init__(self, token: str, options: TelegramOptions) -> None:
        quiet()
        self._token = token
        self._options = options
        self._wire, self._poll_wire = Wire(options), TelegramPollHttp(options, 2)
        # Telegram would fetch the target of a link before the user has seen the message: an
        # attacker who makes the model write an address with a secret in it would receive that
        # secret.
        self._previews = LinkPreviewOptions(is_disabled=not options.link_previews)
        self._bot = LibraryBot(
            token,
            base_url=options.base_url,
            base_file_url=options.file_url,
            request=self._wire,
            get_updates_request=self._poll_wire,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._poll_wire.shutdown()
        await self._wire.shutdown()

    # Incoming

    async def me(self) -> Bot:
        """Return the identity of the bot."""
        async with self._translated():
            try:
                user = await self._bot.get_me()
            except _NONSENSE:
                raise UncertainError("its answer makes no sense") from None
        return Bot(user.id, user.username or "", user.full_name)

    async def drop_webhook(self) -> None:
        """Have messages wait to be polled; pending ones are kept."""
        async with self._translated():
            await self._bot.delete_webhook(drop_pending_updates=False)

    async def poll(self, offset: int | None, wait_s: int, limit: int = 100) -> list[Incoming]:
        """Wait for updates from this number on; the server forgets all earlier ones."""
        async with self._translated():
            # TelegramPollHttp keeps the raw updates: some cannot be read by the library.
            self._poll_wire.results = []
            with contextlib.suppress(*_NONSENSE):
                await self._bot.get_updates(
                    offset=offset,
                    limit=limit,
                    timeout=wait_s,
                    read_timeout=_POLL_SPARE_S,
                    allowed_updates=WANTED,
                )
        return list(_read(self._poll_wire.results))

    async def fetch(self, file_id: str, most: int) -> bytes:
        """Return the content of a file.

        Raises:
            RefusalError: It is larger than allowed, does not exist, or does not arrive in time.
        """
        try:
            async with asyncio.timeout(self._options.fetch_s):
                data = await self._fetched(file_id, most)
        except UncertainError:
            raise
        except TimeoutError:
            raise RefusalError(408, f"it took longer than {self._options.fetch_s:g} s") from None
        if len(data) > most:
            raise RefusalError(413, f"the file has {len(data)} bytes")
        return data

    async def _fetched(self, file_id: str, most: int) -> bytes:
        async with self._translated():
            try:
                found = await self._bot.get_file(file_id)
            except _NONSENSE:
                raise UncertainError("its answer makes no sense") from None
            path = found.file_path or ""
            if found.file_size is not None and found.file_size > most:
                raise RefusalError(413, f"the file has {found.file_size} bytes")
            if not path.startswith(("http://", "https://")):
                raise RefusalError(404, "the file cannot be fetched from this server")
            return await self._wire.retrieve(path, read_timeout=_FETCH_S)

    # Outgoing

    async def send(
        self,
        chat_id: str,
        part: Formatted,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
        buttons: Sequence[tuple[str, str]] = (),
    ) -> str | None:
        """Send a message; return its id, or None if the response could not be parsed."""
        # A changed message has a suffix after its own number.
        answers, number = None, (reply_to or "").partition("-")[0]
        if number.isdecimal():
            answers = ReplyParameters(int(number), allow_sending_without_reply=True)
        chat, thread = _number(chat_id), _number(thread_id) if thread_id else None
        async with self._translated():
            try:
                message = await self._bot.send_message(
                    chat,
                    _whole(part.text),
                    entities=_entities(part) or None,
                    link_preview_options=self._previews,
                    reply_parameters=answers,
                    message_thread_id=thread,
                    reply_markup=_keyboard(buttons),
                )
            except _NONSENSE:  # it was sent; only the response is unusual
                return None
        return str(message.message_id)

    async def edit(self, chat_id: str, message_id: str, part: Formatted) -> None:
        """Replace the content of a message; its buttons are removed."""
        chat, number = _number(chat_id), _number(message_id)
        async with self._translated():
            with contextlib.suppress(*_NONSENSE):
                await self._bot.edit_message_text(
                    _whole(part.text),
                    chat_id=chat,
                    message_id=number,
                    entities=_entities(part) or None,
                    link_preview_options=self._previews,
                )

    async def delete(self, chat_id: str, message_id: str) -> None:
        """Delete a message."""
        chat, number = _number(chat_id), _number(message_id)
        async with self._translated():
            await self._bot.delete_message(chat, number)

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show for five seconds that a reply is being written."""
        chat, thread = _number(chat_id), _number(thread_id) if thread_id else None
        async with self._translated():
            await self._bot.send_chat_action(chat, "typing", message_thread_id=thread)

    async def answer_button(self, query_id: str, words: str) -> None:
        """Show a text to the user who pressed a button."""
        async with self._translated():
            await self._bot.answer_callback_query(query_id, words or None)

    async def commands(self) -> list[tuple[str, str]]:
        """Return the current menu of commands."""
        async with self._translated():
            try:
                found = await self._bot.get_my_commands()
            except _NONSENSE:
                return []
        return [(each.command, each.description) for each in found]

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Set the menu of commands."""
        async with self._translated():
            await self._bot.set_my_commands([BotCommand(*each) for each in commands])

    # Errors

    @contextlib.asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        try:
            yield
        except RefusedCallError as error:
            raise self._refused(error.refusal) from None
        except (TimedOut, NetworkError) as error:
            said = _INSIDES.sub("", str(error))
            words = self._clean(said or "the connection could not be established")
            if isinstance(error.__cause__, _NOT_SENT):
                raise NotSentError(words) from None
            raise UncertainError(words) from None
        except TelegramError as error:
            raise UncertainError(self._clean(str(error))) from None

    def _refused(self, refusal: RefusalError) -> Exception:
        words = self._clean(refusal.words)
        if refusal.code >= _SERVER:
            return UncertainError(words)
        return RefusalError(refusal.code, words, refusal.retry_after, refusal.moved_to)

    def _clean(self, words: str) -> str:
        return words.replace(self._token, "[secret]")


def _read(results: Sequence[Any]) -> Iterator[Incoming]:
    for raw in results:
        try:
            yield incoming(raw)
        except (TypeError, KeyError, ValueError, AttributeError):  # it does not even have a number
            log.warning("Telegram sent something that is not an update")


def _whole(text: str) -> str:
    """Replace unpaired surrogates, which cannot be sent; the length stays the same."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _number(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise RefusalError(_BAD, "Bad Request: chat not found") from None


def _entities(part: Formatted) -> list[MessageEntity]:
    found = []
    for mark, offset, length in part.entities():
        url = mark.detail if mark.kind == "text_link" else None
        language = mark.detail or None if mark.kind == "pre" else None
        found.append(MessageEntity(mark.kind, offset, length, url=url, language=language))
    return found


def _keyboard(buttons: Sequence[tuple[str, str]]) -> InlineKeyboardMarkup | None:
    if not buttons:
        return None
    made = [InlineKeyboardButton(label[:_LABEL], callback_data=data) for label, data in buttons]
    wide = any(len(label) > _HALF_A_ROW for label, _ in buttons)
    in_a_row = 1 if wide else 2
    rows = [made[start : start + in_a_row] for start in range(0, len(made), in_a_row)]
    return InlineKeyboardMarkup(rows)
