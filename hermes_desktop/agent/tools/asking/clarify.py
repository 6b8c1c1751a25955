"""``clarify``: the assistant asks the user a question, and waits for the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue, new_request_id, plain
from hermes_desktop.agent.tools.base import STOPPED, Answer, Arguments, Tool, ToolContext, ToolError
from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.session_context import get_session_env
from hermes_desktop.core.user_requests import UserAnswer, UserRequest

TIMEOUT_S = 600.0
_SHORTEST_S, _LONGEST_S = 1.0, 86_400.0
MOST_CHOICES = 6
MOST_QUESTION = 2000
MOST_CHOICE = 200


@dataclass(frozen=True, slots=True)
class UserQuestions:
    """The way for one agent's tools to ask the user. Blocking; thread-safe.

    Attributes:
        queue: The pending requests.
        clean: Removes secrets from what is shown.
        platform: Where the chat takes place.
        session_key: Identifies the chat.
        timeout_s: The time-out of an answer.
    """

    queue: RequestQueue
    clock: Clock
    clean: Callable[[str], str]
    platform: str
    session_key: str
    timeout_s: float = TIMEOUT_S

    def ask(
        self, text: str, choices: tuple[str, ...], session_id: str, cancel: CancelSignal
    ) -> UserAnswer:
        """Wait for the user's answer, or for the end of the wait."""
        now = self.clock.time()
        question = UserRequest(
            id=new_request_id(),
            session_key=get_session_env("HERMES_SESSION_KEY") or self.session_key,
            session_id=session_id,
            user_id=get_session_env("HERMES_SESSION_USER_ID"),
            platform=self.platform,
            kind="question",
            text=self.clean(text),
            choices=tuple(self.clean(each) for each in choices),
            asked_at=now,
            expires_at=now + self.timeout_s,
        )
        return self.queue.ask(question, cancel, self.timeout_s)


def question_timeout(config: Mapping[str, Any]) -> float:
    """Read ``agent.clarify_timeout`` of config.yaml; an invalid value is ignored."""
    section = config.get("agent")
    value = section.get("clarify_timeout") if isinstance(section, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return TIMEOUT_S
    return float(value) if _SHORTEST_S <= value <= _LONGEST_S else TIMEOUT_S


def _clarify(arguments: Arguments, context: ToolContext) -> Answer:
    text = plain(arguments["question"]).strip()
    if not text:
        raise ToolError("question is blank.")
    if len(text) > MOST_QUESTION:
        raise ToolError(f"The question is longer than {MOST_QUESTION} characters. Be shorter.")
    choices = _choices(arguments.get("choices") or [])
    asker = context.setup.asker
    if asker is None:
        return _told(text, choices, UserAnswer("", "nobody"))
    reply = asker.ask(text, choices, context.session_id, context.cancel)
    return _told(text, choices, reply)


def _choices(given: list[Any]) -> tuple[str, ...]:
    if len(given) > MOST_CHOICES:
        raise ToolError(f"More than {MOST_CHOICES} choices. Offer fewer; any answer may be given.")
    found: list[str] = []
    for number, each in enumerate(given, 1):
        if not isinstance(each, str) or not each.strip():
            raise ToolError(f"Choice {number} is not text.")
        words = " ".join(plain(each).split())
        if len(words) > MOST_CHOICE:
            raise ToolError(f"Choice {number} is longer than {MOST_CHOICE} characters.")
        if words and words not in found:
            found.append(words)
    return tuple(found)


def _told(text: str, choices: tuple[str, ...], reply: UserAnswer) -> Answer:
    """Return the outcome of a question for the model, with the field names of ``hermes``."""
    if reply.reason == "stopped":
        return {"error": STOPPED}
    asked = {"question": text, "choices_offered": list(choices) or None}
    if reply.text:
        return {**asked, "user_response": reply.text}
    if reply.reason == "answered":
        note = "The user skipped the question. Use your judgment."
        return {**asked, "user_response": None, "note": note}
    words = {
        "timeout": "Nobody answered in time.",
        "nobody": "Nobody can be asked here.",
        "gone": "The user can no longer be reached.",
        "ended": "The program is being closed, so nobody can be asked any more.",
    }
    note = f"{words[reply.reason]} Continue without an answer if that does no harm, and mention it."
    return {**asked, "user_response": None, "note": note}


CLARIFY = Tool(
    "clarify",
    "clarify",
    "Ask the user a question and wait for the answer. Use it when you cannot continue sensibly "
    "without the answer, not for small talk. Offer choices if there are only a few; the user may "
    "also give another answer.",
    {
        "question": {"type": "string", "description": "What you want to know, in a few sentences."},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Up to {MOST_CHOICES} short answers to choose from.",
        },
    },
    _clarify,
    required=("question",),
    subject="question",
)
