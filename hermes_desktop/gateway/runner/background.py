"""Background tasks: requests answered outside their chat, each with its own session and agent.

They use the turn slots that all turns share. Their results are owed to the chat like any reply;
tasks that the end of the program interrupts are reported there by the next run.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.commands.context import Work
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import BusyError, HermesError, RefusedError
from hermes_desktop.core.events import OFFERED_SESSION, Notice, TurnStarted
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.gateway.access.refusals import closing, no_model
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.claims import Claims
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.execution import TurnExecution
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)

END_REASON = "background_complete"
MOST_TASKS = 4
"""Limit of running and waiting tasks per chat; all chats of a runner share three times as many."""
MOST_TOGETHER = 12
_MOST_WORDS = 60
_MOST_READ = 1_000_000

TaskState = Literal["waiting", "running", "over"]


@dataclass(slots=True, eq=False)
class BackgroundTask:
    """A request that is answered in a separate session.

    Attributes:
        id: Its user-visible name.
        session_key: The chat in which it was requested.
        session_id: Its own session.
        source: Where the result is delivered.
        source_tag: The recorded origin of its session.
        model: The model settings chosen for the chat's session.
        record: The turn.
        agent: Set once it runs.
    """

    id: str
    session_key: str
    session_id: str
    prompt: str
    source: SessionSource
    source_tag: str
    started_at: float
    record: TurnRecord
    model: Mapping[str, str]
    message_id: str | None = None
    state: TaskState = "waiting"
    agent: Any = None

    @property
    def words(self) -> str:
        """The beginning of the request."""
        return first_words(self.prompt)


@dataclass(frozen=True, slots=True)
class InterruptedTask:
    """A task of an earlier run that was interrupted."""

    id: str
    session_key: str
    session_id: str
    prompt: str
    source: SessionSource


class TaskFile:
    """File of unfinished background tasks. Blocking.

    A file that cannot be read or written is logged and counts as absent.

    Args:
        path: The file; its folder is created when first needed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, tasks: Iterable[BackgroundTask]) -> None:
        """Record the unfinished tasks."""
        listed = [
            {
                "id": each.id,
                "session_key": each.session_key,
                "session_id": each.session_id,
                "prompt": each.prompt,
                "source": each.source.to_dict(),
            }
            for each in tasks
        ]
        try:
            if not listed:
                self._path.unlink(missing_ok=True)
                return
            make_private_folder(self._path.parent)
            write_text_atomic(self._path, json.dumps(listed, ensure_ascii=False))
        except OSError as error:
            log.warning("Background tasks cannot be noted: %s", error)

    def take(self) -> tuple[InterruptedTask, ...]:
        """Return the tasks that an earlier run did not finish, and delete the file."""
        try:
            with self._path.open(encoding="utf-8") as stream:
                listed = json.loads(stream.read(_MOST_READ))
            self._path.unlink()
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("Background tasks cannot be read: %s", error)
            return ()
        entries = listed if isinstance(listed, list) else []
        return tuple(each for each in map(_parsed, entries) if each is not None)


def _parsed(entry: Any) -> InterruptedTask | None:
    try:
        return InterruptedTask(
            str(entry["id"]),
            str(entry["session_key"]),
            str(entry["session_id"]),
            str(entry["prompt"]),
            SessionSource.from_dict(entry["source"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


class BackgroundWork:
    """Runs background tasks. On the event loop, unless a method says otherwise."""

    def __init__(
        self,
        core: CoreParts,
        claims: Claims,
        execution: TurnExecution,
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._status = core.status
        self._claims = claims
        self._execution = execution
        self._agents = core.agents
        self._control = core.control
        self._replies = core.replies

    async def begin(self, event: MessageEvent, prompt: str, session_key: str) -> BackgroundTask:
        """Start answering a request in the background.

        Args:
            event: The message that requests it.
            prompt: The request.
            session_key: The chat.

        Raises:
            BusyError: Too many tasks run already.
            HermesError: The runner is stopping or takes no new turns, or the chat's platform is not
                available.
        """
        source = event.source
        if source is None or self._state.draining or source.platform not in self._state.adapters:
            raise closing()
        if self._state.refusing is not None:
            raise self._state.refusing
        ours = [each for each in self._state.tasks.values() if each.session_key == session_key]
        if len(ours) >= MOST_TASKS or len(self._state.tasks) >= MOST_TOGETHER:
            raise too_many_tasks(len(ours) if len(ours) >= MOST_TASKS else len(self._state.tasks))
        name = f"bg_{secrets.token_hex(3)}"
        session_id = new_session_id(self._state.clock.now())
        record = TurnRecord(name, session_key, prompt, session_id=session_id)
        record.monotonic = self._state.clock.monotonic
        task = BackgroundTask(
            id=name,
            session_key=session_key,
            session_id=session_id,
            prompt=prompt,
            source=source,
            source_tag=event.source_tag or source.platform.value,
            started_at=self._state.clock.time(),
            record=record,
            model=await self._state.aside(self._chosen_for_tasks, session_key),
            message_id=event.message_id,
        )
        self._state.tasks[name] = task
        await self._note_tasks()
        try:
            self._state.background_runs.start(self._run_task(task), name=f"background {name}")
        except RefusedError:  # a stop has been requested
            await self.stop(name)
            raise
        return task

    def of_chat(self, session_key: str | None = None) -> tuple[BackgroundTask, ...]:
        """Return the unfinished tasks: those of a chat, or all."""
        known = tuple(self._state.tasks.values())
        return tuple(each for each in known if session_key in {None, each.session_key})

    async def stop(self, name: str) -> bool:
        """End a task without delivering anything; return False when there is none."""
        task = self._state.tasks.pop(name, None)
        if task is None:
            return False
        task.record.unwanted = True
        task.record.request_stop()
        if task.agent is not None:
            task.agent.interrupt("stopped by the user")
        await self._note_tasks()
        return True

    def work(self, session_key: str | None) -> tuple[Work, ...]:
        """Return the running work in a chat, or in all chats."""
        turns = [
            Work(
                record.turn_id,
                "reply",
                first_words(record.prompt),
                self._chats.peek(key).running_since or 0.0,
                self._named(key),
            )
            for key, record in self._chats.turns.items()
            if session_key in {None, key}
        ]
        tasks = [
            Work(
                t.id, "background task", t.words, t.started_at, self._named(t.session_key), t.state
            )
            for t in self.of_chat(session_key)
        ]
        return (*turns, *tasks)

    async def stop_work(self, name: str, session_key: str | None) -> bool:
        """End a reply or a task; return False when there is none of that name."""
        for task in self.of_chat(session_key):
            if task.id == name:
                return await self.stop(name)
        for key, record in list(self._chats.turns.items()):
            if record.turn_id == name and session_key in {None, key}:
                return await self._control.stop_turn(key)
        return False

    def _named(self, session_key: str) -> str:
        entry = self._state.session_store._entries.get(session_key)  # noqa: SLF001 - without loading
        return entry.origin.description if entry is not None and entry.origin is not None else ""

    # One task

    async def _run_task(self, task: BackgroundTask) -> None:
        try:
            outcome = await self._outcome_of_task(task)
        except HermesError as error:
            outcome = turn_outcome.from_error(error)
        except WaitAbandonedError:  # ended before it started
            outcome = turn_outcome.stopped()
        except asyncio.CancelledError:  # the runner stops; the next run reports the task
            self._finish_task(task, turn_outcome.stopped(rows=task.record.rows))
            raise
        self._finish_task(task, outcome)
        if task.record.unwanted:
            await self._end_task_row(task)
            return
        if self._state.draining and outcome.outcome == "stopped":
            return  # it stays in the file
        await self._tell_result(task, outcome)
        await self._end_task_row(task)
        self._state.tasks.pop(task.id, None)
        await self._note_tasks()

    async def _outcome_of_task(self, task: BackgroundTask) -> TurnOutcome:
        record, locks = task.record, self._state.program_locks
        async with (
            self._state.turn_leases.hold(task.session_id),
            locks.hold(task.session_id, unless=record.ending) if locks else nullcontext(),
            self._state.turn_slots,
            self._claims.session_lease(task.session_id),
        ):
            if record.stop_requested or self._state.draining:
                return turn_outcome.stopped()
            task.state = "running"
            self._status.report()
            record.began_at = record.active_at = self._state.clock.monotonic()
            started = TurnStarted(task.id, task.session_key, task.session_id, task.prompt)
            self._state.bus.publish(started)
            try:
                task.agent = await self._execution.on_worker(
                    record, partial(self._task_agent, task)
                )
                result = await self._execution.run_agent(task.agent, task.source, record)
            except HermesError as error:
                return turn_outcome.from_error(error, rows=record.rows)
            except Exception as error:  # a bug, but the chat is still notified
                log.exception("A background task failed")
                return turn_outcome.from_error(error, rows=record.rows)
            finally:
                if task.agent is not None:
                    self._agents.close_soon(task.agent)
        return turn_outcome.from_result(result, history_len=0, rows=record.rows)

    def _task_agent(self, task: BackgroundTask) -> Any:
        """Create the agent of a task. Blocking."""
        if self._state.agent_factory is None:
            raise no_model()
        agent = self._state.agent_factory(
            AgentRequest(
                session_id=task.session_id,
                source=task.source_tag,
                session_key=task.session_key,
                session_fields=self._folder_of(task.session_key),
                settings=self._execution.agent_settings(),
                model_override=task.model,
            )
        )
        agent.bind(task.session_id, [])
        return agent

    def _folder_of(self, session_key: str) -> dict[str, str]:
        """Return the working folder of the chat's session, for the row of a task. Blocking."""
        entry = self._state.session_store._entries.get(session_key)  # noqa: SLF001 - without loading
        row = self._state.database().get_session(entry.session_id) if entry is not None else None
        folder = row.get("cwd") if row is not None else None
        return {"cwd": str(folder)} if folder else {}

    def _chosen_for_tasks(self, session_key: str) -> dict[str, str]:
        entry = self._state.session_store._entries.get(session_key)  # noqa: SLF001 - without loading
        return self._execution.model_override(entry) if entry is not None else {}

    def _finish_task(self, task: BackgroundTask, outcome: TurnOutcome) -> None:
        task.record.over.set()
        task.state = "over"
        self._status.report()
        self._state.bus.publish(turn_outcome.finished_event(task.record, outcome))

    async def _tell_result(self, task: BackgroundTask, outcome: TurnOutcome) -> None:
        if task.source.platform is Platform.DESKTOP:
            self._state.bus.publish(_notice(task, outcome))
        elif outcome.outcome == "done":
            await self._replies.bring(task.source, task.id, result_words(task, outcome.delivery))
        else:
            why = outcome.delivery or "it was stopped."
            await self._replies.bring(task.source, task.id, failure_words(task, why))

    async def _end_task_row(self, task: BackgroundTask) -> None:
        """Name and end the session of a finished task; it can be resumed later."""
        if self._state.session_db is None:
            return
        session_id = task.agent.session_id if task.agent is not None else task.session_id
        try:
            await self._state.aside(self._close_row, session_id, task)
        except HermesError as error:
            log.warning("%s was not marked as ended: %s", session_id, error)

    def _close_row(self, session_id: str, task: BackgroundTask) -> None:
        db = self._state.database()
        row = db.get_session(session_id)
        if row is None:
            return
        if not row["title"]:
            try:
                db.set_session_title(session_id, f"Background: {task.words} ({task.id[3:]})")
            except (HermesError, ValueError) as error:
                log.info("A background task keeps no name: %s", error)
        db.end_session(session_id, END_REASON)

    # Earlier and later runs

    async def _note_tasks(self) -> None:
        """Record the unfinished tasks, in case the process is killed."""
        if self._state.task_file is not None:
            tasks = tuple(self._state.tasks.values())
            await self._state.aside(TaskFile(self._state.task_file).write, tasks)

    async def report_interrupted(self) -> None:
        """Tell the chats of the tasks that the end of the last run interrupted."""
        if self._state.task_file is None:
            return
        for task in await self._state.aside(TaskFile(self._state.task_file).take):
            if not await self._state.aside(self._was_over, task):
                await self._report_interrupted(task)

    def _was_over(self, task: InterruptedTask) -> bool:
        """Return whether its result was delivered before the program ended."""
        db = self._state.database()
        row = db.get_session(task.session_id)
        return row is not None and row["end_reason"] == END_REASON

    async def _report_interrupted(self, task: InterruptedTask) -> None:
        source = task.source
        if source.platform is Platform.DESKTOP:
            self._state.bus.publish(
                Notice(
                    "warning",
                    "A background task was interrupted when the program ended.",
                    task.prompt[:200],
                    "If you still need it, send /background again.",
                    key=f"{OFFERED_SESSION}{task.session_id}",
                    action="Open session",
                )
            )
            return
        adapter = self._state.adapters.get(source.platform)
        words = interrupted_words(
            task, adapter.typed_command_prefix if adapter is not None else "/"
        )
        bringing = self._replies.bring(source, f"{task.id}-cut-off", words)
        self._state.notices.start(bringing, name="cut-off task")

    async def end(self, grace_s: float) -> None:
        """Interrupt the running tasks at shutdown; they stay recorded for the next run."""
        for task in tuple(self._state.tasks.values()):
            task.record.request_stop()
            if task.agent is not None:
                task.agent.interrupt("gateway shutting down")
        await self._state.background_runs.wait_all(timeout=grace_s)
        for task in tuple(self._state.tasks.values()):
            task.record.given_up.set()
        await self._state.background_runs.cancel_all(timeout=1.0)


def _notice(task: BackgroundTask, outcome: TurnOutcome) -> Notice:
    done = outcome.outcome == "done"
    return Notice(
        "ok" if done else "warning",
        f"Background task “{task.words}” is done." if done else f"“{task.words}” failed.",
        (outcome.reply if done else outcome.error_title)[:300],
        key=f"{OFFERED_SESSION}{outcome.session_id or task.session_id}",
        action="Open session",
    )


def first_words(text: str) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text[:1000].split())
    return flat if len(flat) <= _MOST_WORDS else flat[: _MOST_WORDS - 1] + "…"


def result_words(task: BackgroundTask, text: str) -> str:
    """Return the message that delivers a result to its chat."""
    return f"Background task “{task.words}” is done:\n\n{text}"


def failure_words(task: BackgroundTask, why: str) -> str:
    """Return the message about a failed task for its chat."""
    return f"Background task “{task.words}” failed: {why}"


def interrupted_words(task: InterruptedTask, prefix: str) -> str:
    """Return the message for a chat whose task was interrupted by the end of the program."""
    return (
        f"Background task “{first_words(task.prompt)}” was interrupted because the program "
        f"ended. Its work so far is kept. If you still need it, send {prefix}background again."
    )


def too_many_tasks(number: int) -> BusyError:
    """Return the error for reaching the limit of background tasks."""
    return BusyError(
        "Too many background tasks are running.",
        f"{number} tasks are running.",
        "Wait for one to finish, or stop one: /agents lists them.",
    )
