"""What the assistant asks, as window and command line see it: news on the bus, answers."""

from collections.abc import Callable

from hermes_desktop.agent.tools.question_queue import Question, QuestionQueue, QuestionReply
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import QuestionAnswered, QuestionAsked
from hermes_desktop.services.queue_news import QueueNews


class Questions:
    """The one queue of a program, on its loop.

    Nobody can be asked before :meth:`open`: the assistant is told so at once.

    Args:
        queue: Where agents wait, on their threads.
        bus: Gets :class:`QuestionAsked` and :class:`QuestionAnswered`.
    """

    def __init__(self, queue: QuestionQueue, bus: EventBus) -> None:
        self.queue = queue
        self._news = QueueNews(queue, bus, as_event, _as_answered)

    def open(self, serves: Callable[[Question], bool] = lambda _question: True) -> None:
        """From now on somebody listens to the bus who can ask a person. On the loop.

        Args:
            serves: Whether a question can be asked here; called on any thread.
        """
        self._news.open(serves)

    def close(self) -> None:
        """Nobody can be asked here any more; what nobody else shows ends now."""
        self._news.close()

    def end(self) -> None:
        """The program ends: what waits goes on without an answer, and whatever comes, too."""
        self.queue.close()

    def pending(self) -> tuple[QuestionAsked, ...]:
        """What waits, the oldest first."""
        return tuple(as_event(each) for each in self.queue.pending())

    def answer(self, request_id: str, text: str, by: str = "window") -> bool:
        """Answer a question; False when it does not wait any more.

        Args:
            request_id: Which.
            text: The answer, or the number of a choice; blank skips the question.
            by: Where the person answered.
        """
        return self.queue.answer(request_id, text, by)


def as_event(question: Question) -> QuestionAsked:
    """A question as news."""
    return QuestionAsked(
        request_id=question.id,
        session_key=question.session_key,
        session_id=question.session_id,
        platform=question.platform,
        text=question.text,
        choices=question.choices,
        expires_at=question.expires_at,
    )


def _as_answered(question: Question, reply: QuestionReply) -> QuestionAnswered:
    ids = (question.id, question.session_key, question.session_id)
    return QuestionAnswered(*ids, reply.text, reply.reason, reply.by)
