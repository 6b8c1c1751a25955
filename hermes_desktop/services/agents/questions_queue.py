"""The assistant's questions for the window and command line: events on the bus, and answers."""

from hermes_desktop.agent.tools.asking.question_queue import Question, QuestionQueue, QuestionReply
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import QuestionAnswered, QuestionAsked
from hermes_desktop.services.agents.queue_news import QueueEvents


class Questions(QueueEvents[Question, QuestionReply, QuestionAsked]):
    """Publishes questions and accepts answers. A turn continues without one if none can be asked.

    Args:
        queue: The queue in which agents wait, on their threads.
        bus: The event bus for :class:`QuestionAsked` and :class:`QuestionAnswered`.
    """

    def __init__(self, queue: QuestionQueue, bus: EventBus) -> None:
        super().__init__(queue, bus, as_event, _as_answered)
        self.queue = queue

    def answer(self, request_id: str, text: str, by: str = "window") -> bool:
        """Answer a question; return False when it is no longer pending.

        Args:
            request_id: The question.
            text: The answer, or the number of a choice; blank skips the question.
            by: Where the user answered.
        """
        return self.queue.answer(request_id, text, by)


def as_event(question: Question) -> QuestionAsked:
    """Convert a question to an event."""
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
