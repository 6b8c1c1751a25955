"""The end of one conversation and the beginning of the next, told to plugins and event hooks.

Plugins get the hooks in order and on a worker, each call awaited for at most
:data:`~hermes_desktop.plugins.SLOW_CALLBACK_S`; whatever they do, the boundary is crossed.
"""

import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from hermes_desktop import plugins
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.gateway.runner.runner_state import EventHooks
from hermes_desktop.plugins.hooks import giving_reason

log = logging.getLogger(__name__)

T = TypeVar("T")


class Boundaries:
    """Tells of boundaries. Used on the loop; has a thread of its own while it is open.

    Args:
        limit_s: How long one call of a hook is awaited.
    """

    def __init__(self, *, limit_s: float = plugins.SLOW_CALLBACK_S) -> None:
        self._limit_s = limit_s
        self._workers = WorkerThreads("gateway-hooks")

    async def invoke(self, name: str, *, reason: str = "", **kwargs: Any) -> list[Any]:
        """Call a plugin hook. Never raises, never takes longer than the limit.

        Args:
            name: The hook.
            reason: What :func:`plugins.boundary_reason` answers meanwhile.
            kwargs: What it carries, exactly.

        Returns:
            What the callbacks returned; nothing when they took too long.
        """
        try:
            with giving_reason(reason):
                return await self._workers.run_within(
                    self._limit_s, lambda: plugins.invoke_hook(name, **kwargs)
                )
        except TimeoutError:
            slow = ", ".join(plugins.REGISTRY.hanging()) or "a plugin"
            log.error("%s is not awaited any longer: %s", name, slow)  # noqa: TRY400 - no bug
        except Exception:  # somebody else's code, or we have left already
            log.warning("%s failed", name, exc_info=True)
        return []

    async def finalize(self, session_id: str, platform: str, reason: str) -> None:
        """A conversation of a chat has ended."""
        await self.invoke(
            "on_session_finalize", reason=reason, session_id=session_id, platform=platform
        )

    async def reset(self, session_id: str, platform: str, reason: str) -> None:
        """A new conversation of a chat is ready."""
        await self.invoke(
            "on_session_reset", reason=reason, session_id=session_id, platform=platform
        )

    def close(self) -> None:
        """Let the thread go. Never waits."""
        self._workers.close()


async def emit(
    hooks: EventHooks | None,
    event_type: str,
    context: dict[str, Any],
    *,
    calls: BoundedCalls,
    limit_s: float,
) -> None:
    """Tell the event hooks of something. Never raises; whoever hangs is left behind.

    Args:
        hooks: Who hears of it; None: nobody.
        event_type: ``session:start``, …
        context: What they are told.
        calls: Keeps what is left behind.
        limit_s: How long they may take together.
    """
    if hooks is not None:
        await _bounded(calls, limit_s, hooks.emit(event_type, context), event_type)


async def collect(
    hooks: EventHooks | None,
    event_type: str,
    context: dict[str, Any],
    *,
    calls: BoundedCalls,
    limit_s: float,
) -> list[Any]:
    """Ask the event hooks about something; what they answered. Args as in :func:`emit`."""
    ask = getattr(hooks, "emit_collect", None)
    if ask is None:
        return []
    return await _bounded(calls, limit_s, ask(event_type, context), event_type) or []


async def _bounded(
    calls: BoundedCalls, limit_s: float, call: Coroutine[Any, Any, T], event_type: str
) -> T | None:
    try:
        return await calls.within(limit_s, call, doing=event_type)
    except TimeoutError:
        log.warning("The hooks of %s took too long", event_type)
    except Exception:  # somebody else's code
        log.warning("The hooks of %s failed", event_type, exc_info=True)
    return None
