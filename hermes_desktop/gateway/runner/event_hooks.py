"""What hears of the gateway's events: handlers in ``hooks/<folder>``, kept apart, off the loop."""

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
"""What is told here; a handler that wants something else waits for it in vain."""

AT_ONCE = 4
"""How many events may be told at the same time; those of one chat come one after the other."""

Handle = Callable[[str, dict[str, Any]], Any]


class EventHookSet:
    """The handlers of one run of the gateway. Made anywhere; awaited on the loop; closed once.

    A handler is called on a thread of its own, also if it is a coroutine, which then has a loop of
    its own: none of them can hold up the program.

    Args:
        registry: Bounds the calls; None: one of its own.
    """

    def __init__(self, registry: HookRegistry | None = None) -> None:
        self._registry = registry or HookRegistry(known=None)
        self._workers = WorkerThreads("event-hooks", size=AT_ONCE)
        self._loaded: list[dict[str, Any]] = []

    @property
    def loaded_hooks(self) -> list[dict[str, Any]]:
        """Name, description, events and path of each."""
        return list(self._loaded)

    def add(self, name: str, events: tuple[str, ...], handle: Handle, **facts: str) -> None:
        """Have a handler called for some events; ``command:*`` means all commands."""

        def call(event_type: str, context: dict[str, Any]) -> Any:
            return _finished(handle(event_type, dict(context)))

        call.__qualname__ = "handle"
        for event in events:
            if event not in EVENTS and not event.startswith("command:"):
                log.warning("The hook %s waits for %s, which is not told here", name, event)
            self._registry.register(event, call, plugin=f"the hook {name}")
        self._loaded.append({"name": name, "events": list(events), **facts})

    async def emit(self, event_type: str, context: dict[str, Any]) -> None:
        """Tell whoever wants to know; never raises because of one of them."""
        await self.emit_collect(event_type, context)

    async def emit_collect(self, event_type: str, context: dict[str, Any]) -> list[Any]:
        """The same; what they answered, those for exactly this event first."""
        general = event_type.partition(":")[0] + ":*"
        names = [name for name in (event_type, general) if self._registry.has(name)]
        if not names:
            return []
        given = {"event_type": event_type, "context": context}
        return await self._workers.run(
            lambda: [answer for name in names for answer in self._registry.invoke(name, given)]
        )

    def close(self) -> None:
        """Tell nobody any more. Never waits."""
        self._workers.close()


def _finished(answer: Any) -> Any:
    if not inspect.isawaitable(answer):
        return answer
    import asyncio  # noqa: PLC0415 - named here, where a loop of its own is meant

    async def wait() -> Any:
        return await answer

    return asyncio.run(wait())


def verdict_on_command(answers: list[Any]) -> Mapping[str, Any]:
    """The first answer that decides about a command; empty when all let it be."""
    for answer in answers:
        if isinstance(answer, Mapping) and answer.get("decision") in {"deny", "handled", "rewrite"}:
            return answer
    return {}
