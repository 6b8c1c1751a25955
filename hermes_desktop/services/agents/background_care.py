"""Background processes of a program, with notifications to chats when one ends or is lost."""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from hermes_desktop.agent.tools.processes.process_messages import ended_words, lost_words
from hermes_desktop.agent.tools.processes.process_table import ProcessInfo, ProcessTable
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice
from hermes_desktop.core.ids import new_turn_id
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.run import GatewayRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hermes_desktop.agent.tools.processes.process_records import LostProcess

log = logging.getLogger(__name__)

_OUTPUT = 2000
_SHOWN = 120
LOST_KEY = "processes:lost"


class BackgroundNotifier:
    """Connects background processes with chats. Used on the event loop, unless stated otherwise.

    Args:
        table: The processes; None where nothing runs in the background.
        bus: The event bus for notices about lost processes.
    """

    def __init__(self, table: ProcessTable | None, bus: EventBus) -> None:
        self.table = table
        self._bus = bus
        self._runners: list[GatewayRunner] = []
        self._tasks = TaskSet()
        self._leave: Callable[[], object] = lambda: None
        self._waiting: list[LostProcess] = []

    def is_busy(self, session_key: str) -> bool:
        """Return whether a process runs for a chat. Any thread."""
        return self.table is not None and self.table.has_active(session_key)

    def running(self) -> int:
        """Return the number of running background processes. Any thread."""
        if self.table is None:
            return 0
        return sum(each.state == "running" for each in self.table.listed())

    def keep_tasks(self, file: "Path") -> None:
        """Make the runners added so far record their tasks in a file that the next program reads.

        Called before they start.
        """
        for runner in self._runners:
            runner.state.task_file = file

    async def open(self, workers: WorkerThreads) -> None:
        """Subscribe to process ends; end and report what an earlier program has left."""
        table = self.table
        if table is None:
            return
        loop = asyncio.get_running_loop()

        def ended(info: ProcessInfo) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and all chats with it
                loop.call_soon_threadsafe(self._tell_end, info)

        self._leave = table.on_end(ended)
        lost = await workers.run(table.take_lost)
        if lost:
            self._bus.publish(_ended_notice([each.command for each in lost]))
            self._waiting = [each for each in lost if each.notify]
            for runner in self._runners:
                self._tell_lost(runner)

    async def close(self, workers: WorkerThreads) -> tuple[ProcessInfo, ...]:
        """End and report all running processes, and return them."""
        self._leave()
        await self._tasks.cancel_all()
        if self.table is None:
            return ()
        ended = await workers.run(self.table.close)
        if ended:
            self._bus.publish(_ended_notice([each.command for each in ended]))
        return ended

    # Notification of chats

    def add(self, runner: GatewayRunner) -> None:
        """Notify the chats of a runner of the processes they have started."""
        self._runners.append(runner)
        self._tell_lost(runner)

    def remove(self, runner: GatewayRunner) -> None:
        """Stop notifying the chats of a runner."""
        if runner in self._runners:
            self._runners.remove(runner)

    def _tell_end(self, info: ProcessInfo) -> None:
        if not info.notify or info.state == "killed" or self.table is None:
            return
        output = self.table.output(info.id, None, _OUTPUT).text
        for runner in self._runners:
            if notify_chat(runner, info.session_key, ended_words(info, output)):
                return
        log.info("No chat could be notified that %s has ended", info.id)

    def _tell_lost(self, runner: GatewayRunner) -> None:
        waiting, self._waiting = self._waiting, []
        told = [notify_chat(runner, each.session_key, lost_words(each)) for each in waiting]
        self._waiting = [each for each, done in zip(waiting, told, strict=True) if not done]


def notify_chat(runner: GatewayRunner, session_key: str, text: str) -> bool:
    """Pass a message of the program to a chat's assistant, as a separate turn.

    Returns:
        False when the runner does not know the chat, or its platform is not connected.
    """
    entry = runner.session_store._entries.get(session_key)  # noqa: SLF001 - without loading
    source = entry.origin if entry is not None else None
    if source is None or source.platform not in runner.adapters:
        return False
    event = MessageEvent(text, source=source, internal=True, turn_id=new_turn_id())
    runner.adapters[source.platform].expect_turn(event.turn_id, session_key)
    runner.accept(event)
    return True


def _ended_notice(commands: "Sequence[str]") -> Notice:
    """Return the notice about ended processes, shown at the program's end and at its next start."""
    title = (
        "A background process ended with the program."
        if len(commands) == 1
        else f"{len(commands)} background processes ended with the program."
    )
    return Notice(
        "info",
        title,
        "; ".join(command[:_SHOWN] for command in commands[:5]),
        "If you still need it, ask the assistant to start it again.",
        key=LOST_KEY,
    )
