"""Background prompts of a live session, and the methods that list background work."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.commands.words import first_words
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.core.session_context import set_session_vars
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.session_record import source_of

log = logging.getLogger(__name__)

MOST_TASKS = 4
END_REASON = "background_complete"
CUT_OFF = "The task was cut off: its session was closed."
_WORDS = 60
_PATIENCE_S = 2.0


@dataclass(slots=True, eq=False)
class Task:
    """A prompt that is answered in a separate session."""

    id: str
    session_id: str
    prompt: str
    started_at: float
    agent: Any = field(default=None, repr=False)
    stopped: bool = False
    over: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def words(self) -> str:
        """The beginning of the prompt."""
        return first_words(self.prompt, _WORDS)


def submit(call: Call) -> dict[str, Any]:
    """Handle ``prompt.background``; the result is sent as the event ``background.complete``."""
    sid, session = call.session()
    return {"task_id": start(call.server, sid, session, call.params.text("text"))}


def agents_list(call: Call) -> dict[str, Any]:
    """Handle ``agents.list``: return tasks and processes of a session, or of all live ones."""
    state = call.server.state
    with state.lock:
        live = list(state.sessions.values())
    if call.params.has("session_id"):
        live = [call.session()[1]]
    tasks = [task for session in live for task in tasks_of(session)]
    table = call.server.program.facts.processes
    keys = {session["session_key"] for session in live}
    processes = table.listed() if table is not None else ()
    return {
        "tasks": [
            {
                "task_id": task.id,
                "session_id": task.session_id,
                "prompt": task.words,
                "started_at": task.started_at,
            }
            for task in tasks
        ],
        "processes": [
            {"session_id": each.id, "command": each.command, "status": each.state}
            for each in processes
            if each.session_key in keys and each.state == "running"
        ],
    }


def tasks_of(session: Session) -> tuple[Task, ...]:
    """Return the unfinished tasks of a session."""
    with session["history_lock"]:
        return tuple(session.get("background", {}).values())


def start(server: Server, sid: str, session: Session, prompt: str) -> str:
    """Start answering a prompt on a separate thread; return the task's name.

    Raises:
        RpcError: No agent can be created, or too many tasks run.
    """
    program = server.program
    task = Task(
        f"bg_{secrets.token_hex(3)}",
        new_session_id(program.clock.now()),
        prompt,
        program.clock.time(),
    )
    with session["history_lock"]:
        tasks: dict[str, Task] = session.setdefault("background", {})
        if len(tasks) >= MOST_TASKS:
            raise RpcError(Code.BUSY, f"{MOST_TASKS} background tasks run already")
        tasks[task.id] = task
    request = AgentRequest(
        session_id=task.session_id,
        source=source_of(session),
        session_key=task.session_id,
        session_fields={"cwd": session["cwd"]} if session.get("cwd") else {},
        model_override=dict(session.get("model_override") or {}),
    )
    try:
        task.agent = program.agents.build(request)
    except HermesError as error:
        _forget(session, task)
        raise in_protocol(error, Code.AGENT) from error
    server.start_thread(lambda: _run(server, sid, session, task))
    return task.id


def stop(session: Session, name: str) -> bool:
    """End a task; return False when there is none."""
    task = next((each for each in tasks_of(session) if each.id == name), None)
    if task is None:
        return False
    task.stopped = True
    _forget(session, task)
    if task.agent is not None:
        task.agent.interrupt("stopped by the user")
    return True


def cut_off(server: Server, sid: str, session: Session) -> None:
    """End all tasks of a session that is being closed; peers are notified. Blocks briefly."""
    tasks = tasks_of(session)
    for task in tasks:
        if stop(session, task.id):
            payload = {"task_id": task.id, "text": CUT_OFF, "session_id": task.session_id}
            server.emit("background.complete", sid, {**payload, "error": True})
    end = time.monotonic() + _PATIENCE_S
    for task in tasks:
        task.over.wait(max(0.0, end - time.monotonic()))


def stop_all(session: Session) -> int:
    """End all tasks of a session; return their number."""
    return sum(stop(session, task.id) for task in tasks_of(session))


def _run(server: Server, sid: str, session: Session, task: Task) -> None:
    """Answer a background prompt. On the task's own thread; never raises."""
    text, failed = "", False
    try:
        set_session_vars(
            HERMES_SESSION_PLATFORM=source_of(session),
            HERMES_SESSION_KEY=session["session_key"],
            HERMES_SESSION_ID=task.session_id,
            HERMES_UI_SESSION_ID=sid,
        )
        result = task.agent.run_conversation(task.prompt, task_id=task.id)
        failed = bool(result.get("failed"))
        text = str((result.get("error") if failed else result.get("final_response")) or "")
    except HermesError as error:
        text, failed = str(error), True
    except Exception as error:
        log.exception("The background task %s crashed", task.id)
        text, failed = f"The task crashed: {type(error).__name__}; the log says more.", True
    finally:
        _forget(session, task)
        _quietly(task.agent.close)
    if not task.stopped:
        payload = {"task_id": task.id, "text": text, "session_id": task.session_id}
        server.emit("background.complete", sid, {**payload, "error": failed})
    db = server.db()
    if db is not None:
        _quietly(lambda: _close_row(db, task))
    task.over.set()


def _close_row(db: SessionDB, task: Task) -> None:
    session_id = task.agent.session_id
    row = db.get_session(session_id)
    if row is None:
        return
    if not row["title"]:
        _quietly(
            lambda: db.set_session_title(session_id, f"Background: {task.words} ({task.id[3:]})")
        )
    db.end_session(session_id, END_REASON)


def _forget(session: Session, task: Task) -> None:
    with session["history_lock"]:
        session.get("background", {}).pop(task.id, None)


def _quietly(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:
        # The result has been sent; failures of the cleanup matter less.
        log.warning("A background task left something behind", exc_info=True)
