"""One request to the provider, and its reply."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hermes_desktop.agent.providers.base import ChatProvider
from hermes_desktop.agent.types import (
    CallNote,
    CancelSignal,
    ChatRequest,
    Finished,
    NoteListener,
    ReasoningDelta,
    ReplyRestarted,
    StreamCallback,
    TextDelta,
    TextRetracted,
    ToolCallAnnounced,
)
from hermes_desktop.core.errors import ProviderError

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class Reply:
    """The reply of the provider.

    Attributes:
        finished: The closing event, None when the reply is incomplete.
        error: Why it is incomplete, None when it is complete or was stopped by the user.
    """

    finished: Finished | None = None
    error: ProviderError | None = None
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text received."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """All thinking received."""
        return "".join(self._reasoning)

    def take(
        self, event: TextDelta | ReasoningDelta | TextRetracted | ReplyRestarted | Finished
    ) -> None:
        """Add one event to the reply."""
        if isinstance(event, TextDelta):
            self._text.append(event.text)
        elif isinstance(event, ReplyRestarted):
            self._text.clear()
            self._reasoning.clear()
        elif isinstance(event, TextRetracted):
            self._text.clear()
            self._reasoning.append(event.text.strip())
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
        else:
            self.finished = event


def ask(
    provider: ChatProvider,
    request: ChatRequest,
    cancel: CancelSignal,
    on_text: StreamCallback | None = None,
    on_reasoning: StreamCallback | None = None,
    on_note: NoteListener | None = None,
) -> Reply:
    """Send one request and collect the reply. Blocking; never raises :class:`ProviderError`."""
    tell_text = _guarded(on_text)
    tell_reasoning = _guarded(on_reasoning)
    tell_note = _guarded(on_note)
    reply = Reply()
    try:
        for event in provider.stream(request, cancel=cancel):
            if isinstance(event, CallNote | ToolCallAnnounced):
                tell_note(event)
                continue
            reply.take(event)
            if isinstance(event, TextDelta):
                tell_text(event.text)
            elif isinstance(event, ReasoningDelta):
                tell_reasoning(event.text)
            elif isinstance(event, TextRetracted):
                tell_note(event)
                tell_reasoning(event.text.strip())
    except ProviderError as error:
        reply.error = error
    return reply


def _guarded(callback: Callable[[T], None] | None) -> Callable[[T], None]:
    """Guard a callback: after a failure, which is logged, it is not called again.

    The reply matters more than the callback.
    """
    broken = callback is None

    def tell(text: T) -> None:
        nonlocal broken
        if broken or callback is None:
            return
        try:
            callback(text)
        except Exception:
            broken = True
            log.exception("A listener to the reply failed")

    return tell
