"""Whether an answer that ended in good order says anything, and why it says no more."""

from collections.abc import Iterator

from hermes_desktop.agent.providers.failures import CallFailedError, Failures
from hermes_desktop.agent.types import CallNote, Finished, ReasoningDelta, StreamEvent, TextDelta

_CUT = "The answer was cut off: it reached the most tokens that it may have."
_ONLY_THOUGHT = (
    "The model used up all the tokens it may have for thinking. Raise model.max_tokens, or have "
    "it think less."
)
_FILTERED = "The provider's filter cut the answer off."


class ReplyLook:
    """Passes the events of one attempt on, and looks at its end.

    Args:
        failures: Words for what goes wrong.
        insist: An answer without a word is a failure that is tried again.
    """

    def __init__(self, failures: Failures, *, insist: bool) -> None:
        self._failures = failures
        self._insist = insist
        self._said = self._thought = False

    def passed(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """The event, with what the person should know of it before.

        Raises:
            CallFailedError: The answer ended without a word.
        """
        if isinstance(event, TextDelta):
            self._said = self._said or bool(event.text.strip())
        elif isinstance(event, ReasoningDelta):
            self._thought = True
        elif isinstance(event, Finished):
            yield from self._end(event)
        yield event

    def _end(self, finished: Finished) -> Iterator[CallNote]:
        reason = finished.finish_reason
        done = self._said or bool(finished.tool_calls)
        if reason == "content_filter":
            if not done:
                raise self._failures.filtered()
            yield CallNote(_FILTERED, lasting=True)
        elif reason == "length":
            if not done and self._thought:
                yield CallNote(_ONLY_THOUGHT, lasting=True)
            elif self._said and not finished.tool_calls:
                yield CallNote(_CUT, lasting=True)
        elif not done and self._insist:
            raise self._failures.empty(thought=self._thought)


def is_empty(failure: CallFailedError) -> bool:
    """Whether it is about an answer without a word."""
    return failure.error.reason == "empty"
