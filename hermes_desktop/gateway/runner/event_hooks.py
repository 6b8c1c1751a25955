"""Event hooks of the gateway: handlers in ``hooks/<folder>``, isolated and off the event loop."""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.plugins.hooks import HookRegistry

log = logging.getLogger(__name__)

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
            return _finished(handle(event_type, dict(context)))

        call.__qualname__ = "handle"
        for event in events:
            if event not in EVENTS and not event.startswith("command:"):
                log.warning("The hook %s waits for %s, which is not told here", name, event)
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


def _finished(answer: Any) -> Any:
    if not inspect.isawaitable(answer):
        return answer
    import asyncio  # noqa: PLC0415 - named here, where a loop of its own is meant

    async def wait() -> Any:
        return await answer

    return asyncio.run(wait())


def verdict_on_command(answers: list[Any]) -> Mapping[str, Any]:
    """Return the first result that decides about a command; empty when there is none."""
    for answer in answers:
        if isinstance(answer, Mapping) and answer.get("decision") in {"deny", "handled", "rewrite"}:
            return answer
    return {}
