"""Notification of plugins and event hooks when a session ends and the next one starts.

Plugin hooks are called in order on a worker thread, each with a time-out of
:data:`~hermes_desktop.plugins.SLOW_CALLBACK_S`; no hook can prevent the session change.
"""

import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from hermes_desktop import plugins
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.gateway.runner.runner_state import EventHooks
from hermes_desktop.plugins.hooks import boundary_reason_set

log = logging.getLogger(__name__)

T = TypeVar("T")


class SessionHooks:
    """Notifier of session boundaries. Used on the event loop; has its own thread while it is open.

    Args:
        limit_s: The time-out of one hook call.
    """

    def __init__(self, *, limit_s: float = plugins.SLOW_CALLBACK_S) -> None:
        self._limit_s = limit_s
        self._workers = WorkerThreads("gateway-hooks")

    async def invoke(self, name: str, *, reason: str = "", **kwargs: Any) -> list[Any]:
        """Call a plugin hook. Never raises, never takes longer than the limit.

        Args:
            name: The hook.
            reason: What :func:`plugins.boundary_reason` returns meanwhile.
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
        """Notify plugins that a session of a chat has ended."""
        await self.invoke(
            "on_session_finalize", reason=reason, session_id=session_id, platform=platform
        )

    async def reset(self, session_id: str, platform: str, reason: str) -> None:
        """Notify plugins that a new session of a chat is ready."""
        await self.invoke(
            "on_session_reset", reason=reason, session_id=session_id, platform=platform
        )

    def close(self) -> None:
        """Close the worker thread without waiting."""
        self._workers.close()


async def emit(
    hooks: EventHooks | None,
    event_type: str,
    context: dict[str, Any],
    *,
    calls: BoundedCalls,
    limit_s: float,
) -> None:
    """Notify the event hooks. Never raises; a hook that hangs is abandoned.

    Args:
        hooks: The event hooks; None: there are none.
        event_type: ``session:start``, …
        context: The event's data.
        calls: Keeps track of abandoned calls.
        limit_s: The time-out for all hooks together.
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
    """Notify the event hooks and return their results. Args as in :func:`emit`."""
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
    except Exception:  # third-party code
        log.warning("The hooks of %s failed", event_type, exc_info=True)
    return None
