"""The available hooks with their arguments, and a callback registry that protects its callers.

Callbacks are third-party code: they may raise, hang or disappear. One that raises is logged. One
that took too long three times is disabled until the program starts again.
"""

import contextlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.time_bound import call_within

log = logging.getLogger(__name__)

SLOW_CALLBACK_S = 5.0
MAX_OVERRUNS = 3

_TURN = ("session_id", "task_id", "turn_id")
_SAID = ("user_message", "conversation_history", "model", "platform")
_REQUEST = (*_TURN, "api_request_id", "platform", "model", "provider", "base_url", "api_mode")
_TOOL = ("tool_name", "args", "task_id", "session_id", "tool_call_id", "turn_id")

HOOKS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "on_session_start": ("session_id", "model", "platform"),
        "on_session_end": (*_TURN, "completed", "interrupted", "model", "platform"),
        "on_session_finalize": ("session_id", "platform"),
        "on_session_reset": ("session_id", "platform"),
        "pre_llm_call": (*_TURN, *_SAID, "is_first_turn", "sender_id"),
        "post_llm_call": (*_TURN, *_SAID, "assistant_response"),
        "transform_llm_output": ("response_text", "session_id", "model", "platform"),
        "pre_tool_call": _TOOL,
        "post_tool_call": (*_TOOL, "result", "duration_ms", "status"),
        "transform_tool_result": (*_TOOL, "result"),
        "pre_api_request": (*_REQUEST, "request_messages", "message_count", "started_at"),
        "post_api_request": (*_REQUEST, "api_duration", "finish_reason", "usage", "response"),
        "api_request_error": (*_REQUEST, "api_duration", "status_code", "error"),
        "pre_approval_request": ("command", "description", "session_key", "surface"),
        "post_approval_response": ("command", "description", "session_key", "surface", "choice"),
        "pre_gateway_dispatch": ("event", "gateway", "session_store"),
    }
)
"""The keyword arguments that a callback of each hook can rely on. A caller may pass more."""

ANSWERED: Final = frozenset(
    {
        "pre_llm_call",
        "transform_llm_output",
        "pre_tool_call",
        "transform_tool_result",
        "pre_gateway_dispatch",
    }
)
"""Hooks whose result is used: it is waited for until the callback's time limit."""

_boundary_reason: ContextVar[str] = ContextVar("hermes_boundary_reason", default="")


def boundary_reason() -> str:
    """Return why the conversation ended whose boundary hook runs now.

    ``new_session``, ``session_expired``, ``idle``, ``daily``, ``suspended``,
    ``resume_pending_expired``, ``compression_exhausted``, ``shutdown`` or ``close``; "" outside of
    a boundary hook. The reason is not an argument of the hooks, because those have exactly two.
    """
    return _boundary_reason.get()


@contextlib.contextmanager
def boundary_reason_set(reason: str) -> Iterator[None]:
    """Make :func:`boundary_reason` return a reason inside the block, and on workers it calls."""
    token = _boundary_reason.set(reason)
    try:
        yield
    finally:
        _boundary_reason.reset(token)


@dataclass(eq=False)
class _Callback:
    """One registered callback, and the start times of its running calls."""

    call: Callable[..., Any]
    name: str
    limit_s: float
    running: dict[int, float] = field(default_factory=dict)
    overruns: int = 0
    off: bool = False


class HookRegistry:
    """Callbacks by the name of a hook, called in the order they were registered. Any thread.

    Each call runs on a separate thread, so that one that hangs does not block the others.

    Args:
        clock: The clock that measures how long callbacks take.
        slow_s: Time limit of a call, unless the callback was registered with another one.
        known: The known names; None: any.

    Attributes:
        report: Called on any thread with the text about a callback that was disabled.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        slow_s: float = SLOW_CALLBACK_S,
        known: Mapping[str, Any] | None = HOOKS,
    ) -> None:
        self.report: Callable[[str], None] | None = None
        self._clock: Clock = clock or SystemClock()
        self._slow_s = slow_s
        self._known = known
        self._lock = threading.Lock()
        self._callbacks: dict[str, list[_Callback]] = {}
        self._numbers = itertools.count()

    def register(
        self,
        name: str,
        callback: Callable[..., Any],
        *,
        plugin: str = "",
        limit_s: float | None = None,
    ) -> Callable[[], None]:
        """Register a callback for a hook.

        Args:
            name: The hook; an unknown one is kept, because a later version may know it.
            callback: Called with the hook's keyword arguments, on any thread.
            plugin: The plugin it belongs to, for the log.
            limit_s: Time limit of a call; None: the common limit.

        Returns:
            A function that removes it; harmless when called twice.
        """
        words = getattr(callback, "__qualname__", None) or repr(callback)
        called = f"{words} of {plugin}" if plugin else str(words)
        entry = _Callback(callback, called, self._slow_s if limit_s is None else limit_s)
        if self._known is not None and name not in self._known:
            log.warning(
                "%s registered for %r, which is not a hook of this version", entry.name, name
            )
        with self._lock:
            self._callbacks.setdefault(name, []).append(entry)

        def take_back() -> None:
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks[name].remove(entry)

        return take_back

    def has(self, name: str) -> bool:
        """Return whether a hook has callbacks that would be called."""
        with self._lock:
            return any(not entry.off for entry in self._callbacks.get(name, ()))

    def invoke(self, name: str, kwargs: Mapping[str, Any]) -> list[Any]:
        """Call all callbacks, return their results without None. Blocks up to their time limits."""
        with self._lock:
            entries = list(self._callbacks.get(name, ()))
        results = (self._await(entry, name, kwargs) for entry in entries if self._may_run(entry))
        return [result for result in results if result is not None]

    def _await(self, entry: _Callback, name: str, kwargs: Mapping[str, Any]) -> Any:
        """Call one callback; return None on time-out, which is short where no answer is used."""
        wait_s = entry.limit_s if name in ANSWERED else min(entry.limit_s, self._slow_s)
        try:
            return call_within(wait_s, partial(self._call, entry, name, kwargs), name="plugin-hook")
        except TimeoutError:
            if wait_s < entry.limit_s:
                log.info("%s continues with %s in the background", entry.name, name)
            else:
                log.error(  # noqa: TRY400 - the plugin's fault
                    "%s is not awaited any longer in %s", entry.name, name
                )
            return None

    def _may_run(self, entry: _Callback) -> bool:
        """Return whether a callback may still be called; calls that hang count as overruns."""
        with self._lock:
            if entry.off:
                return False
            now = self._clock.monotonic()
            hanging = sum(now - began > entry.limit_s for began in entry.running.values())
            if entry.overruns + hanging < MAX_OVERRUNS:
                return True
            entry.off = True
        times = f"took longer than {entry.limit_s:g} s {MAX_OVERRUNS} times"
        words = f"{entry.name} {times} and is off until the next start"
        log.error(words)
        if self.report is not None:
            self.report(words)
        return False

    def _call(self, entry: _Callback, name: str, kwargs: Mapping[str, Any]) -> Any:
        number = next(self._numbers)
        began = self._clock.monotonic()
        with self._lock:
            entry.running[number] = began
        try:
            return entry.call(**kwargs)
        except BaseException:  # third-party code, which may also call sys.exit()
            log.warning("%s failed in %s", entry.name, name, exc_info=True)
            return None
        finally:
            took = self._clock.monotonic() - began
            with self._lock:
                del entry.running[number]
                slow = took > entry.limit_s
                entry.overruns += slow
            if slow:
                log.warning("%s took %.1f s in %s", entry.name, took, name)

    def hanging(self) -> list[str]:
        """Return the names of running callbacks that have exceeded their time limit."""
        now = self._clock.monotonic()
        with self._lock:
            return [
                entry.name
                for entries in self._callbacks.values()
                for entry in entries
                if any(now - began >= entry.limit_s for began in entry.running.values())
            ]
