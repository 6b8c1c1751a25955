"""Background tasks: requests answered beside their chat, each with its own session and agent.

They use the turn slots that all turns share. Their results are owed to the chat like any reply;
tasks that the end of the program interrupts are reported there by the next run.
"""

import asyncio
import contextlib
import logging
import secrets
from contextlib import nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hermes_desktop.commands.context import Work
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import OFFERED_SESSION, Notice, TurnStarted
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.gateway.access.refusals import closing, no_model
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery import delivery
from hermes_desktop.gateway.delivery.delivery import Reply
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.background_tasks import (
    MOST_TASKS,
    MOST_TOGETHER,
    BackgroundTask,
    InterruptedTask,
    TaskFile,
    cut_off_words,
    failure_words,
    first_words,
    result_words,
    too_many_tasks,
)
from hermes_desktop.gateway.runner.runner_mail import RunnerDelivery
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.agent_preparation import close_agents
from hermes_desktop.gateway.turns.agents import AgentRequest
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)

END_REASON = "background_complete"


class RunnerBackground(RunnerDelivery):
    """Background tasks. On the event loop, unless a method says otherwise.

    Attributes:
        task_file: The file that records unfinished tasks; None: they are not recorded.
    """

    task_file: Path | None = None

    @cached_property
    def _background(self) -> dict[str, BackgroundTask]:
        """The unfinished tasks by name."""
        return {}

    @cached_property
    def _background_runs(self) -> TaskSet:
        return TaskSet()

    async def begin_background(
        self, event: MessageEvent, prompt: str, session_key: str
    ) -> BackgroundTask:
        """Start answering a request beside its chat.

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
        if source is None or self._draining or source.platform not in self.adapters:
            raise closing()
        if self._refusing is not None:
            raise self._refusing
        ours = [each for each in self._background.values() if each.session_key == session_key]
        if len(ours) >= MOST_TASKS or len(self._background) >= MOST_TOGETHER:
            raise too_many_tasks(len(ours) if len(ours) >= MOST_TASKS else len(self._background))
        name = f"bg_{secrets.token_hex(3)}"
        session_id = new_session_id(self.clock.now())
        record = TurnRecord(name, session_key, prompt, session_id=session_id)
        record.monotonic = self.clock.monotonic
        task = BackgroundTask(
            id=name,
            session_key=session_key,
            session_id=session_id,
            prompt=prompt,
            source=source,
            source_tag=event.source_tag or source.platform.value,
            started_at=self.clock.time(),
            record=record,
            model=await self._aside(self._chosen_for_tasks, session_key),
            message_id=event.message_id,
        )
        self._background[name] = task
        await self._note_tasks()
        self._background_runs.start(self._see_to_task(task), name=f"background {name}")
        return task

    def background_tasks(self, session_key: str | None = None) -> tuple[BackgroundTask, ...]:
        """Return the unfinished tasks: those of a chat, or all."""
        known = tuple(self._background.values())
        return tuple(each for each in known if session_key in {None, each.session_key})

    def running_tasks(self) -> int:
        """Return the number of tasks that occupy a turn slot."""
        return sum(each.state == "running" for each in self._background.values())

    async def stop_background(self, name: str) -> bool:
        """End a task for good without delivering anything; return False when there is none."""
        task = self._background.pop(name, None)
        if task is None:
            return False
        task.record.unwanted = True
        task.record.request_stop()
        if task.agent is not None:
            task.agent.interrupt("stopped by a person")
        await self._note_tasks()
        return True

    def work(self, session_key: str | None) -> tuple[Work, ...]:
        """Return the running work in a chat, or in all chats."""
        turns = [
            Work(
                record.turn_id,
                "reply",
                first_words(record.prompt),
                self._running_agents_ts.get(key, 0.0),
                self._named(key),
            )
            for key, record in self._turns.items()
            if session_key in {None, key}
        ]
        tasks = [
            Work(
                t.id, "background task", t.words, t.started_at, self._named(t.session_key), t.state
            )
            for t in self.background_tasks(session_key)
        ]
        return (*turns, *tasks)

    async def stop_work(self, name: str, session_key: str | None) -> bool:
        """End a reply or a task for good; return False when there is none of that name."""
        for task in self.background_tasks(session_key):
            if task.id == name:
                return await self.stop_background(name)
        for key, record in list(self._turns.items()):
            if record.turn_id == name and session_key in {None, key}:
                return await self.stop_turn(key)
        return False

    def _named(self, session_key: str) -> str:
        entry = self.session_store._entries.get(session_key)  # noqa: SLF001 - without loading
        return entry.origin.description if entry is not None and entry.origin is not None else ""

    def turn_source(self, session_key: str) -> SessionSource | None:
        """Return the source of what runs in a chat, a turn or a task. Any thread."""
        found = super().turn_source(session_key)
        if found is not None:
            return found
        tasks = tuple(self._background.values())
        return next((each.source for each in tasks if each.session_key == session_key), None)

    # One task

    async def _see_to_task(self, task: BackgroundTask) -> None:
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
        if self._draining and outcome.outcome == "stopped":
            return  # it stays in the file
        await self._tell_result(task, outcome)
        await self._end_task_row(task)
        self._background.pop(task.id, None)
        await self._note_tasks()

    async def _outcome_of_task(self, task: BackgroundTask) -> TurnOutcome:
        record, locks = task.record, self.program_locks
        async with (
            self._turn_leases.hold(task.session_id),
            locks.hold(task.session_id, unless=record.ending) if locks else nullcontext(),
            self._turn_slots,
            self._session_lease(task.session_id),
        ):
            if record.stop_requested or self._draining:
                return turn_outcome.stopped()
            task.state = "running"
            self._announce()
            record.began_at = record.active_at = self.clock.monotonic()
            started = TurnStarted(task.id, task.session_key, task.session_id, task.prompt)
            self.bus.publish(started)
            try:
                task.agent = await self._on_worker(record, partial(self._task_agent, task))
                result = await self._run_agent(task.agent, task.source, record)
            except HermesError as error:
                return turn_outcome.from_error(error, rows=record.rows)
            except Exception as error:  # a bug, but the chat is still notified
                log.exception("A background task failed")
                return turn_outcome.from_error(error, rows=record.rows)
            finally:
                if task.agent is not None:
                    self._let_go_of(task.agent)
        return turn_outcome.from_result(result, history_len=0, rows=record.rows)

    def _task_agent(self, task: BackgroundTask) -> Any:
        """Create the agent of a task. Blocking."""
        if self.agent_factory is None:
            raise no_model()
        agent = self.agent_factory(
            AgentRequest(
                session_id=task.session_id,
                source=task.source_tag,
                session_key=task.session_key,
                settings=self.agent_settings() if self.agent_settings is not None else "",
                model_override=task.model,
            )
        )
        agent.bind(task.session_id, [])
        return agent

    def _let_go_of(self, agent: Any) -> None:
        """Close the agent of a finished task on a worker thread, because that may take a while."""
        # The workers are closed: the agent ends with the process.
        with contextlib.suppress(RuntimeError):
            self._side_workers.submit(close_agents, [(agent,)])

    def _chosen_for_tasks(self, session_key: str) -> dict[str, str]:
        entry = self.session_store._entries.get(session_key)  # noqa: SLF001 - without loading
        return self._model_override(entry) if entry is not None else {}

    def _finish_task(self, task: BackgroundTask, outcome: TurnOutcome) -> None:
        task.record.over.set()
        task.state = "over"
        self._announce()
        self.bus.publish(turn_outcome.finished_event(task.record, outcome))

    async def _tell_result(self, task: BackgroundTask, outcome: TurnOutcome) -> None:
        if task.source.platform is Platform.DESKTOP:
            self.bus.publish(_notice(task, outcome))
        elif outcome.outcome == "done":
            await self._bring(task.source, task.id, result_words(task, outcome.delivery))
        else:
            why = outcome.delivery or "it was stopped."
            await self._bring(task.source, task.id, failure_words(task, why))

    async def _bring(self, source: SessionSource, reference: str, text: str) -> None:
        """Deliver a text to a chat, now or once its platform is connected."""
        if self.mail is None:
            adapter = self.adapters.get(source.platform)
            if adapter is not None:
                await delivery.send(adapter, source.chat_id, text)
            return
        await self.mail.deliverer.deliver(
            Reply(
                platform=source.platform,
                session_key=self.session_store._generate_session_key(source),  # noqa: SLF001
                chat_id=source.chat_id,
                text=text,
                thread_id=source.thread_id,
                message_ref=reference,
            )
        )

    async def _end_task_row(self, task: BackgroundTask) -> None:
        """Name and end the session of a finished task; it can be resumed later."""
        if self._session_db is None:
            return
        session_id = task.agent.session_id if task.agent is not None else task.session_id
        try:
            await self._aside(self._close_row, session_id, task)
        except HermesError as error:
            log.warning("%s was not marked as ended: %s", session_id, error)

    def _close_row(self, session_id: str, task: BackgroundTask) -> None:
        db = self._database()
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
        if self.task_file is not None:
            tasks = tuple(self._background.values())
            await self._aside(TaskFile(self.task_file).write, tasks)

    async def _take_up(self) -> None:
        await super()._take_up()
        if self.task_file is None:
            return
        for task in await self._aside(TaskFile(self.task_file).take):
            if not await self._aside(self._was_over, task):
                await self._tell_cut_off(task)

    def _was_over(self, task: InterruptedTask) -> bool:
        """Return whether its result was delivered before the program ended."""
        db = self._database()
        row = db.get_session(task.session_id)
        return row is not None and row["end_reason"] == END_REASON

    async def _tell_cut_off(self, task: InterruptedTask) -> None:
        source = task.source
        if source.platform is Platform.DESKTOP:
            self.bus.publish(
                Notice(
                    "warning",
                    "A background task was cut off when the program ended.",
                    task.prompt[:200],
                    "Say /background again if it is still wanted.",
                    key=f"{OFFERED_SESSION}{task.session_id}",
                    action="Open session",
                )
            )
            return
        adapter = self.adapters.get(source.platform)
        words = cut_off_words(task, adapter.typed_command_prefix if adapter is not None else "/")
        bringing = self._bring(source, f"{task.id}-cut-off", words)
        self._notices.start(bringing, name="cut-off task")

    async def _end_background(self, grace_s: float) -> None:
        """Interrupt the running tasks at shutdown; they stay recorded for the next run."""
        for task in tuple(self._background.values()):
            task.record.request_stop()
            if task.agent is not None:
                task.agent.interrupt("gateway shutting down")
        await self._background_runs.wait_all(timeout=grace_s)
        for task in tuple(self._background.values()):
            task.record.given_up.set()
        await self._background_runs.cancel_all(timeout=1.0)


def _notice(task: BackgroundTask, outcome: TurnOutcome) -> Notice:
    done = outcome.outcome == "done"
    return Notice(
        "ok" if done else "warning",
        f"Background task “{task.words}” is done." if done else f"“{task.words}” came to nothing.",
        (outcome.reply if done else outcome.error_title)[:300],
        key=f"{OFFERED_SESSION}{outcome.session_id or task.session_id}",
        action="Open session",
    )
