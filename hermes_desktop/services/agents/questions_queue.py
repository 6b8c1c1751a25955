"""What the assistant asks, as window and command line see it: news on the bus, answers."""

from hermes_desktop.agent.tools.asking.question_queue import Question, QuestionQueue, QuestionReply
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import QuestionAnswered, QuestionAsked
from hermes_desktop.services.agents.queue_news import QueueNews


class Questions(QueueNews[Question, QuestionReply, QuestionAsked]):
    """Questions of the assistant. What nobody can be asked goes on without an answer.

    Args:
        queue: Where agents wait, on their threads.
        bus: Gets :class:`QuestionAsked` and :class:`QuestionAnswered`.
    """

    def __init__(self, queue: QuestionQueue, bus: EventBus) -> None:
        super().__init__(queue, bus, as_event, _as_answered)
        self.queue = queue

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
