"""Check whether an answer that ended regularly has content, and why it has no more."""

from collections.abc import Iterator
from dataclasses import replace

from hermes_desktop.agent.providers.failures import CallErrors, CallFailedError
from hermes_desktop.agent.providers.tolerances import ENDINGS
from hermes_desktop.agent.types import (
    CallNote,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TextRetracted,
)

_CUT = "The answer was cut off: it reached the most tokens that it may have."
_ONLY_THOUGHT = (
    "The model used up all the tokens it may have for thinking. Raise model.max_tokens, or have "
    "it think less."
)
_FILTERED = "The provider's filter cut the answer off."
_SENT_AS_THINKING = "The server sent this reply as thinking, and nothing else."
NO_ANSWER = "[The model thought, but wrote no answer.]"
_FAILED = frozenset(each.reason for each in ENDINGS if each.means == "failed")


class ReplyCheck:
    """A filter that passes on the events of one attempt, and checks its end.

    Args:
        failures: Builds the errors.
        insist: Treat an answer without text as a failure that is retried.
    """

    def __init__(self, failures: CallErrors, *, insist: bool) -> None:
        self._failures = failures
        self._insist = insist
        self._said = False
        self._thinking: list[ReasoningDelta] = []

    def passed(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """Yield the event, preceded by notes for the user.

        Raises:
            CallFailedError: The answer ended without text, or the server failed to finish it.
        """
        if isinstance(event, TextDelta):
            self._said = self._said or bool(event.text.strip())
        elif isinstance(event, ReasoningDelta):
            self._thinking.append(event)
        elif isinstance(event, TextRetracted):
            self._said = False
            self._thinking.append(ReasoningDelta(event.text, marked=True))
        elif isinstance(event, Finished):
            yield from self._end(event)
            return
        yield event

    def _end(self, finished: Finished) -> Iterator[CallNote | Finished]:
        reason = finished.finish_reason
        done = self._said or bool(finished.tool_calls)
        if reason.lower() in _FAILED:
            raise self._failures.ended_by_server(reason)
        if reason == "content_filter":
            if not done:
                raise self._failures.filtered()
            yield CallNote(_FILTERED, lasting=True)
        elif reason == "length":
            if not done and self._thinking:
                yield CallNote(_ONLY_THOUGHT, lasting=True)
                finished = replace(finished, instead=NO_ANSWER)
            elif self._said and not finished.tool_calls:
                yield CallNote(_CUT, lasting=True)
        elif not done and self._insist:
            raise self._failures.empty(thought=bool(self._thinking))
        elif not done and self._thinking:
            # Some servers send whole replies as thinking; text between marks is never a reply.
            apart = "".join(each.text for each in self._thinking if not each.marked).strip()
            if apart:
                yield CallNote(_SENT_AS_THINKING, lasting=True)
            finished = replace(finished, instead=apart or NO_ANSWER)
        yield finished


def is_empty(failure: CallFailedError) -> bool:
    """Return whether the failure is an answer without text."""
    return failure.error.reason == "empty"
