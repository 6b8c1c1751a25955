"""Removal of known secrets from a model's replies, while they are streamed."""

import itertools
from collections.abc import Iterator

from hermes_desktop.agent.providers.base import ChatProvider
from hermes_desktop.agent.types import (
    CancelSignal,
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    ReplyRestarted,
    StreamEvent,
    TextDelta,
    TextRetracted,
)
from hermes_desktop.core.errors import ProviderError
from hermes_desktop.core.log_setup import SecretRedactor

_NOTHING_AWAY = 4
"""How many characters of a secret may be shown; more wait until it is clear what they are."""


class CleanedReplies:
    """A provider whose text and thinking contain no secret that the redactor knows.

    The end of a piece that may be the beginning of a secret waits for the next piece, but for its
    first characters: most words begin like some secret, and these give nothing away. Arguments of
    tool calls stay as they are: a changed command would do something else.

    Args:
        provider: The provider.
        redactor: Knows the secrets.
    """

    def __init__(self, provider: ChatProvider, redactor: SecretRedactor) -> None:
        self._provider = provider
        self._redactor = redactor

    @property
    def choice(self) -> ModelChoice:
        """The model that answers, and its address."""
        return self._provider.choice

    def close(self) -> None:
        """Close idle connections."""
        self._provider.close()

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Send the request, and yield the events; as :meth:`ChatProvider.stream`."""
        text, thinking = _Piecewise(self._redactor), _Piecewise(self._redactor)
        try:
            for event in self._provider.stream(request, cancel=cancel):
                if isinstance(event, ReplyRestarted):
                    text, thinking = _Piecewise(self._redactor), _Piecewise(self._redactor)
                if isinstance(event, TextDelta):
                    yield from _thought(thinking.rest())
                    yield from _said(text.next(event.text))
                elif isinstance(event, ReasoningDelta):
                    yield from _said(text.rest())
                    yield from _thought(thinking.next(event.text), marked=event.marked)
                elif isinstance(event, TextRetracted):
                    yield from _said(text.rest())
                    yield TextRetracted(text.given)
                    text = _Piecewise(self._redactor)
                else:
                    if isinstance(event, Finished):
                        yield from _thought(thinking.rest())
                        yield from _said(text.rest())
                    yield event
        except ProviderError:
            yield from _said(text.rest())
            raise
        yield from _said(text.rest())  # it was stopped


def _said(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text)


def _thought(text: str, *, marked: bool = False) -> Iterator[ReasoningDelta]:
    if text:
        yield ReasoningDelta(text, marked)


class _Piecewise:
    """Text that comes in pieces.

    Attributes:
        given: The text passed on so far.
    """

    def __init__(self, redactor: SecretRedactor) -> None:
        self._redactor = redactor
        self._passed = ""
        """The last characters passed on, as they came: a secret may have begun there."""
        self._kept = ""
        self.given = ""

    def next(self, piece: str) -> str:
        """Return what can be passed on after this piece."""
        text = self._passed + self._kept + piece
        end = self._redactor.settled(text)
        if len(text) - end < _NOTHING_AWAY:
            end = len(text)
        return self._pass_on(text, max(end, len(self._passed)))

    def rest(self) -> str:
        """Return the text held back: nothing follows."""
        text = self._passed + self._kept
        return self._pass_on(text, len(text))

    def _pass_on(self, text: str, end: int) -> str:
        cleaned = self._redactor.clean_known(text[:end])
        pairs = zip(cleaned, self._passed, strict=False)
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
        # A secret that began in what was passed on is replaced from there.
        new = cleaned[sum(1 for _ in same) :]
        self._passed, self._kept = text[:end][-_NOTHING_AWAY:], text[end:]
        self.given += new
        return new
