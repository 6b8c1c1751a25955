"""The Telegram adapter of the gateway."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from hermes_desktop.commands.registry import available_commands
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import PlatformAdapter, TokenIdentity
from hermes_desktop.gateway.platforms.messages import MessageEvent, Piece, Question, SendResult
from hermes_desktop.gateway.platforms.registry import AdapterContext
from hermes_desktop.gateway.platforms.telegram import attachments, results
from hermes_desktop.gateway.platforms.telegram.formatted import MOST_UNITS, Formatted, units
from hermes_desktop.gateway.platforms.telegram.inbound import button_data
from hermes_desktop.gateway.platforms.telegram.incoming import GENERAL_TOPIC
from hermes_desktop.gateway.platforms.telegram.intake import UpdateConverter
from hermes_desktop.gateway.platforms.telegram.loading import ApiMaker, load_api, missing_text
from hermes_desktop.gateway.platforms.telegram.markup import formatted
from hermes_desktop.gateway.platforms.telegram.options import read_options
from hermes_desktop.gateway.platforms.telegram.poller import (
    UNKNOWN_TOKEN,
    ConflictCount,
    Failure,
    Kept,
    Poller,
    groups_of,
)
from hermes_desktop.gateway.platforms.telegram.records import (
    Bot,
    Incoming,
    NotSentError,
    RefusalError,
    UncertainError,
)

if TYPE_CHECKING:
    from hermes_desktop.gateway.platforms.telegram.api import TelegramApi

log = logging.getLogger(__name__)

_MOST_MENU_ENTRIES, _LONGEST_MENU_TEXT = 60, 256
_MENU_NAME = re.compile(r"[a-z0-9_]{1,32}\Z")


def menu() -> list[tuple[str, str]]:
    """Return name and description of each command available in chats."""
    found = [
        (each.name, (each.description or each.name)[:_LONGEST_MENU_TEXT])
        for each in available_commands()
        if _MENU_NAME.match(each.name)
    ]
    return found[:_MOST_MENU_ENTRIES]


_GROUP_PAUSE_S = 3.0
_MOST_CONFLICTS = 5
_TOAST = 190
_LEAVING_S = 2.0
_READ_AT_ONCE = 1000


class TelegramAdapter(PlatformAdapter):
    """Adapter of a Telegram bot, by long polling.

    The library's own updater is not used: it lets Telegram forget a message before the message is
    stored. An accepted outgoing text does not prove that messages can arrive, so only responses to
    polls count as a sign of life.

    Args:
        config: Token and settings.
        context: Home and clock.
        conflicts: Shared by all adapters of this bot.
        make_api: Creates the API, on a worker thread.
    """

    edits_messages: ClassVar[bool] = True
    has_buttons: ClassVar[bool] = True
    max_message_length = MOST_UNITS

    def __init__(
        self,
        config: PlatformConfig,
        context: AdapterContext,
        *,
        conflicts: ConflictCount | None = None,
        make_api: ApiMaker = load_api,
    ) -> None:
        super().__init__(Platform.TELEGRAM, clock=context.clock)
        self._token = (config.token or "").strip()
        self._options = read_options(config)
        self._home = context.home
        self._conflicts = conflicts or ConflictCount()
        self._make_api = make_api
        self.token = TokenIdentity("telegram-bot-token", self._token)
        self.expected_silence_s = self._options.silence_s
        self._api: TelegramApi | None = None
        self._bot = Bot(0, "", "")
        self._poller: Poller | None = None
        self._tasks = TaskSet()
        self._worker: WorkerThreads | None = None
        self._intake = UpdateConverter(self._options)
        self._moved: dict[str, str] = {}
        self._unkept: dict[str, Kept] = {}

    # Life cycle

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        """Load the library, identify the bot, start polling.

        Raises:
            OSError: Telegram cannot be reached.
        """
        del is_reconnect  # messages waiting at the server are always wanted
        self._worker = WorkerThreads("telegram")
        try:
            api = self._api = await self._worker.run(self._make_api, self._token, self._options)
        except ImportError as error:
            log.warning("Telegram cannot be served: %s", error)
            self.set_fatal_error("missing_package", missing_text(), retryable=False)
            return False
        except ConfigError as error:
            self.set_fatal_error("misconfigured", str(error), retryable=False)
            return False
        try:
            self._bot = await api.me()
            await api.drop_webhook()
        except RefusalError as error:
            is_final = error.code in UNKNOWN_TOKEN
            words = f"Telegram rejected the token: {error.words}." if is_final else str(error)
            self.set_fatal_error(
                "bad_token" if is_final else "refused", words, retryable=not is_final
            )
            return False
        except (NotSentError, UncertainError) as error:
            raise ConnectionError(f"Telegram does not respond: {error}") from None
        poller = Poller(api, self._options.poll_s, self._hand_over, self.heard)
        failure = await poller.first_answer()
        if failure is not None:
            self._fail(failure)
            return False
        self.heard()
        log.info("Connected to Telegram as %s", self._bot.shown)
        self._poller = poller
        self._tasks.start(self._ask(poller), name="telegram poll")
        self._tasks.start(self._look_after(api), name="telegram menu")
        return True

    async def disconnect(self) -> None:
        """Stop polling; stored messages are acknowledged."""
        api, self._api = self._api, None
        poller, self._poller = self._poller, None
        await self._tasks.cancel_all(timeout=_LEAVING_S)
        if poller is not None:
            await poller.acknowledge_rest()
        if api is not None:
            await api.close()
        if self._worker is not None:
            self._worker.close()

    async def probe(self) -> bool:
        """Request our identity and then a new poll; return whether both are answered."""
        api, poller = self._api, self._poller
        if api is None or poller is None:
            return False
        try:
            self._bot = await api.me()
        except (RefusalError, OSError):
            return False
        await poller.poll_again()
        return True

    async def _ask(self, poller: Poller) -> None:
        try:
            failure = await poller.run()
        except Exception:  # a bug here must not silence the bot permanently
            log.exception("Fetching messages from Telegram failed")
            self.set_fatal_error("error", "Fetching messages failed.", retryable=True)
            return
        self._fail(failure)

    def _fail(self, failure: Failure) -> None:
        """Report a failure; repeated conflicts with another program become permanent."""
        retryable = failure.retryable
        if failure.code == "conflict":
            self._conflicts.number += 1
            retryable = self._conflicts.number < _MOST_CONFLICTS
        self.set_fatal_error(failure.code, failure.words, retryable=retryable)

    async def _look_after(self, api: "TelegramApi") -> None:
        """Do what can wait: set the menu of commands, delete old files."""
        worker = self._worker
        try:
            wanted = menu()
            if await api.commands() != wanted:
                await api.set_commands(wanted)
        except (RefusalError, OSError) as error:
            log.info("The menu of commands was not set: %s", error)
        if worker is not None:
            await worker.run(attachments.tidy, self._home, self.clock.time())

    # Incoming

    def _hand_over(self, batch: Sequence[Incoming]) -> list[Kept]:
        """Accept updates in order; return a future for each, done once it is stored."""
        self._conflicts.number = 0
        futures: dict[Incoming, Kept] = {}
        for group in groups_of(batch):
            kept: Kept = asyncio.get_running_loop().create_future()
            futures.update(dict.fromkeys(group, kept))
            self._take(group, kept)
        return [futures[each] for each in batch]

    def _take(self, group: Sequence[Incoming], kept: Kept) -> None:
        first = group[0]
        if first.moved_to:
            self._follow(first.chat_id, first.moved_to)
        event = self._intake.event_of(group, self._bot)
        if event is None:
            if first.query_id:
                self._tasks.start(self._answer_button(first.query_id, ""), name="button")
            kept.set_result(None)
            return
        self._unkept[event.turn_id] = kept

        def ended(task: "asyncio.Task[str | None]") -> None:
            self._unkept.pop(event.turn_id, None)
            if not kept.done():
                if task.cancelled():
                    kept.cancel()
                else:
                    kept.set_result(None)
            if first.query_id and not task.cancelled() and task.exception() is None:
                words = task.result() or ""
                self._tasks.start(self._answer_button(first.query_id, words), name="button")

        self.handle_message(event).add_done_callback(ended)

    def message_kept(self, event: MessageEvent) -> None:
        """Let Telegram forget a message that is stored."""
        kept = self._unkept.pop(event.turn_id, None)
        if kept is not None and not kept.done():
            kept.set_result(None)

    async def with_media(self, event: MessageEvent) -> MessageEvent:
        """Fetch pictures and files; describe other attachments as text."""
        api, worker = self._api, self._worker
        if api is None or worker is None:
            return event
        return await attachments.fetched(
            event, api.fetch, worker, self._home, self._options.most_bytes
        )

    async def _answer_button(self, query_id: str, words: str) -> None:
        if self._api is not None:
            with contextlib.suppress(RefusalError, OSError):
                await self._api.answer_button(query_id, words[:_TOAST])

    def _follow(self, chat_id: str, moved_to: str) -> None:
        log.info("The group %s continues as %s", chat_id, moved_to)
        self._moved[chat_id] = moved_to
        self.chat_moved(chat_id, moved_to)

    # Outgoing

    def message_length(self, text: str) -> int:
        """Return the length of a text in UTF-16 units, as Telegram counts."""
        return units(text)

    def cut(self, text: str) -> list[Piece]:
        """Return a Markdown text as messages, with separate formatting marks."""
        return [Piece(part.text, part, part.plain) for part in formatted(text).cut()]

    async def cut_aside(self, text: str) -> list[Piece]:
        """Return the same as :meth:`cut`; long texts are parsed on a worker thread."""
        worker = self._worker
        if worker is None or len(text) < _READ_AT_ONCE:
            return self.cut(text)
        try:
            return await worker.run(self.cut, text)
        except RuntimeError:  # the worker is closed: the adapter is disconnecting
            return self.cut(text)

    async def send(
        self,
        chat_id: str,
        text: str,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        """Send a text to a chat. Raises as :meth:`PlatformAdapter.send`."""
        result = SendResult(success=True)
        for number, piece in enumerate(await self.cut_aside(text)):
            result = await self.send_piece(
                chat_id, piece, reply_to=None if number else reply_to, thread_id=thread_id
            )
            if not result.success:
                break
        return result

    async def send_piece(
        self,
        chat_id: str,
        piece: Piece,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        """Send one message. Raises as :meth:`PlatformAdapter.send`."""
        return await self._send(chat_id, _part(piece), reply_to, thread_id)

    async def _send(
        self,
        chat_id: str,
        part: Formatted,
        reply_to: str | None,
        thread_id: str | None,
        buttons: Sequence[tuple[str, str]] = (),
    ) -> SendResult:
        api = self._api
        if api is None:
            return results.of_unsent(NotSentError("not connected"))

        async def call(chat: str, thread: str | None) -> str | None:
            return await api.send(chat, part, reply_to=reply_to, thread_id=thread, buttons=buttons)

        return await self._delivered(call, chat_id, thread_id)

    async def _delivered(
        self,
        call: Callable[[str, str | None], Awaitable[str | None]],
        chat_id: str,
        thread_id: str | None,
    ) -> SendResult:
        """Make a call for the chat's current id; without its topic, should that be gone."""
        chat = self._moved.get(chat_id, chat_id)
        thread_id = None if thread_id == GENERAL_TOPIC else thread_id
        try:
            return SendResult(success=True, message_id=await call(chat, thread_id))
        except NotSentError as error:
            return results.of_unsent(error)
        except RefusalError as error:
            if error.moved_to and chat_id not in self._moved:
                self._follow(chat_id, error.moved_to)
                return await self._delivered(call, chat_id, thread_id)
            if thread_id and results.lacks_thread(error):
                return await self._delivered(call, chat_id, None)
            return results.of_refusal(error)

    async def edit_piece(self, chat_id: str, message_id: str, piece: Piece) -> SendResult:
        """Replace the content of a message."""
        api = self._api
        if api is None:
            return results.of_unsent(NotSentError("not connected"))
        try:
            await api.edit(self._moved.get(chat_id, chat_id), message_id, _part(piece))
        except (NotSentError, UncertainError) as error:
            return results.of_unsent(NotSentError(str(error)))
        except RefusalError as error:
            if results.is_same(error):
                return SendResult(success=True, message_id=message_id)
            if results.lacks_message(error):
                return SendResult(success=False, error=error.words, error_kind="not_found")
            return results.of_refusal(error)
        return SendResult(success=True, message_id=message_id)

    async def delete_message(self, chat_id: str, message_id: str) -> bool:
        """Delete one of our messages."""
        if self._api is None:
            return False
        try:
            await self._api.delete(self._moved.get(chat_id, chat_id), message_id)
        except OSError:
            return False
        except RefusalError as error:  # it is deleted already, or too old
            return error.code not in results.TRY_AGAIN
        return True

    def edit_pause_s(self, chat_id: str) -> float:
        """Return the pause between edits: groups accept twenty messages a minute."""
        return _GROUP_PAUSE_S if chat_id.startswith("-") else 0.0

    async def show_typing(self, chat_id: str, *, thread_id: str | None = None) -> None:
        """Show that a reply is being written."""
        if self._api is not None:
            thread_id = None if thread_id == GENERAL_TOPIC else thread_id
            await self._api.typing(self._moved.get(chat_id, chat_id), thread_id)

    async def ask(
        self, chat_id: str, question: Question, *, thread_id: str | None = None
    ) -> SendResult:
        """Send a question with buttons to a chat."""
        buttons = [(label, button_data(question.id, word)) for label, word in question.choices]
        parts = formatted(question.words).cut()
        for part in parts[:-1]:
            await self._send(chat_id, part, None, thread_id)
        return await self._send(chat_id, parts[-1], None, thread_id, buttons)


def _part(piece: Piece) -> Formatted:
    return piece.form if isinstance(piece.form, Formatted) else Formatted(piece.text)
