"""Calls of plugin hooks and event hooks, and the set of event hooks in the home.

Event hooks are handlers in ``hooks/<folder>``, isolated and off the event loop.
"""

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from hermes_desktop import plugins
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.plugins.commands import awaited
from hermes_desktop.plugins.hooks import HookRegistry, boundary_reason_set

log = logging.getLogger(__name__)

T = TypeVar("T")

EVENTS = (
    "gateway:startup",
    "session:start",
    "session:end",
    "session:reset",
    "agent:start",
    "agent:end",
    "command:*",
)
"""The events that are emitted; a handler for any other event is never called."""

AT_ONCE = 4
"""Maximum number of concurrently emitted events; those of one chat are sequential."""

Handle = Callable[[str, dict[str, Any]], Any]


class EventHookSet:
    """The event handlers of one gateway run. Created anywhere; awaited on the loop; closed once.

    A handler is called on a separate thread, even if it is a coroutine, which then gets its own
    loop: no handler can block the program.

    Args:
        registry: Enforces the time-outs of calls; None: a new one.
    """

    def __init__(self, registry: HookRegistry | None = None) -> None:
        self._registry = registry or HookRegistry(known=None)
        self._workers = WorkerThreads("event-hooks", size=AT_ONCE)
        self._loaded: list[dict[str, Any]] = []

    @property
    def loaded_hooks(self) -> list[dict[str, Any]]:
        """Name, description, events and path of each handler."""
        return list(self._loaded)

    def add(self, name: str, events: tuple[str, ...], handle: Handle, **facts: str) -> None:
        """Register a handler for some events; ``command:*`` means all commands."""

        def call(event_type: str, context: dict[str, Any]) -> Any:
            return awaited(handle(event_type, dict(context)))

        call.__qualname__ = "handle"
        for event in events:
            if event not in EVENTS and not event.startswith("command:"):
                log.warning("The hook %s handles %s, which does not exist here", name, event)
            self._registry.register(event, call, plugin=f"the hook {name}")
        self._loaded.append({"name": name, "events": list(events), **facts})

    async def emit(self, event_type: str, context: dict[str, Any]) -> None:
        """Notify all handlers of an event; their exceptions are not raised."""
        await self.emit_collect(event_type, context)

    async def emit_collect(self, event_type: str, context: dict[str, Any]) -> list[Any]:
        """Notify all handlers; return their results, those for exactly this event first."""
        general = event_type.partition(":")[0] + ":*"
        names = [name for name in (event_type, general) if self._registry.has(name)]
        if not names:
            return []
        given = {"event_type": event_type, "context": context}
        return await self._workers.run(
            lambda: [answer for name in names for answer in self._registry.invoke(name, given)]
        )

    def close(self) -> None:
        """Stop notifying handlers. Never waits."""
        self._workers.close()


def verdict_on_command(answers: list[Any]) -> Mapping[str, Any]:
    """Return the first result that decides about a command; empty when there is none."""
    for answer in answers:
        if isinstance(answer, Mapping) and answer.get("decision") in {"deny", "handled", "rewrite"}:
            return answer
    return {}


class HookCalls:
    """Calls plugin hooks and event hooks. On the event loop; has its own thread while it is open.

    Plugin hooks are called in order on a worker thread, each with a time-out of
    :data:`~hermes_desktop.plugins.SLOW_CALLBACK_S`; no hook can prevent the change of a session.

    Args:
        state: The runner's state, which has the event hooks.
        limit_s: The time-out of one call of a plugin hook.
    """

    def __init__(self, state: RunnerState, *, limit_s: float = plugins.SLOW_CALLBACK_S) -> None:
        self._state = state
        self._limit_s = limit_s
        self._workers = WorkerThreads("gateway-hooks")

    def open(self) -> None:
        """Allow calls again after :meth:`close`."""
        self._workers = WorkerThreads("gateway-hooks")

    async def invoke(self, name: str, *, reason: str = "", **kwargs: Any) -> list[Any]:
        """Call a plugin hook. Never raises, never takes longer than the limit.

        Args:
            name: The hook.
            reason: What :func:`plugins.boundary_reason` returns during the hook.
            kwargs: The exact arguments of the hook.

        Returns:
            The results of the callbacks; empty after a time-out.
        """
        try:
            with boundary_reason_set(reason):
                return await self._workers.run_within(
                    self._limit_s, lambda: plugins.invoke_hook(name, **kwargs)
                )
        except TimeoutError:
            slow = ", ".join(plugins.REGISTRY.hanging()) or "a plugin"
            log.error("%s is not awaited any longer: %s", name, slow)  # noqa: TRY400 - no bug
        except Exception:  # third-party code, or the workers are closed already
            log.warning("%s failed", name, exc_info=True)
        return []

    async def finalize(self, session_id: str, platform: str, reason: str) -> None:
        """Notify plugins that a session of a chat has ended; what was allowed in it ends, too."""
        for room in self._state.rooms:
            room.end_session(session_id)
        await self.invoke(
            "on_session_finalize", reason=reason, session_id=session_id, platform=platform
        )

    async def reset(self, session_id: str, platform: str, reason: str) -> None:
        """Notify plugins that a new session of a chat is ready."""
        await self.invoke(
            "on_session_reset", reason=reason, session_id=session_id, platform=platform
        )

    def close(self) -> None:
        """Close the worker thread without waiting; later calls of plugin hooks return nothing."""
        self._workers.close()

    async def emit(self, event_type: str, source: SessionSource | None, **context: Any) -> None:
        """Notify the gateway's event hooks. Never raises; a hook that hangs is abandoned."""
        who = {
            "platform": source.platform.value if source is not None else "",
            "user_id": source.user_id if source is not None else None,
        }
        hooks = self._state.hooks
        if hooks is not None:
            await self._within(hooks.emit(event_type, who | context), event_type)

    async def collect(self, event_type: str, context: dict[str, Any]) -> list[Any]:
        """Notify the gateway's event hooks; return their results."""
        ask = getattr(self._state.hooks, "emit_collect", None)
        if ask is None:
            return []
        return await self._within(ask(event_type, context), event_type) or []

    async def _within(self, call: Coroutine[Any, Any, T], event_type: str) -> T | None:
        limit_s = self._state.event_hooks_s
        try:
            return await self._state.bounded.within(limit_s, call, doing=event_type)
        except TimeoutError:
            log.warning("The hooks of %s took too long", event_type)
        except Exception:  # third-party code
            log.warning("The hooks of %s failed", event_type, exc_info=True)
        return None
