"""Questions of the assistant, shown and answered in the chat they came from."""

from typing import TYPE_CHECKING

from hermes_desktop.agent.tools.asking.question_queue import Question, QuestionQueue, QuestionReply
from hermes_desktop.commands.parsing import parse_command
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.chat_attendant import ChatRequestPresenter, where_words

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner


def question_text(question: Question, prefix: str) -> str:
    """Return the text of a question for a chat."""
    lines = [question.text]
    lines += [f"{number}. {choice}" for number, choice in enumerate(question.choices, 1)]
    how = "with a number, or in your own words" if question.choices else "with your next message"
    return "\n".join([*lines, "", f"Answer {how}; {prefix}stop ends what I am doing."])


class ChatQuestions(ChatRequestPresenter[Question, QuestionReply]):
    """Questions in the chats of one runner. The answer is the next message of the same sender.

    Args:
        runner: The runner of these chats.
        queue: The queue in which agents wait.
    """

    def __init__(self, runner: "GatewayRunner", queue: QuestionQueue) -> None:
        super().__init__(runner, queue, question_text, _end, _buttons)
        self._queue = queue

    def answer(self, event: MessageEvent, session_key: str) -> bool:
        """Treat a message as the answer to a pending question; False when it is not one.

        Not answers are: commands, so that ``/stop`` still ends the turn; messages from another
        sender in the same chat; and messages with files, of which only the text would be used.
        """
        waiting, source = self._queue.pending(session_key), event.source
        if not waiting or source is None or not event.text.strip() or event.has_files():
            return False
        question = waiting[0]
        if question.user_id and question.user_id != (source.user_id or ""):
            return False
        adapter = self._runner.adapters.get(source.platform)
        prefix = adapter.typed_command_prefix if adapter is not None else "/"
        if parse_command(event.text, prefix) is not None:
            return False
        return self._queue.answer(question.id, event.text, by=source.platform.value)


def _buttons(question: Question) -> tuple[tuple[str, str], ...]:
    return tuple((choice, str(number)) for number, choice in enumerate(question.choices, 1))


def _end(_question: Question, reply: QuestionReply, platform: str) -> str:
    if reply.reason == "timeout":
        return "Nobody answered in time; I go on without an answer."
    if reply.reason != "answered" or reply.by in {"", platform}:
        return ""
    return f"Answered {where_words(reply.by)}: {reply.text or 'skipped'}"
