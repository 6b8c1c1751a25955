"""Events of a turn, as frozen records: deltas, tools, the end."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TurnQueued:
    """A message is queued because its session, or every worker, is busy.

    Attributes:
        reason: The other program it waits for, in a sentence; "" for a reply of this one.
    """

    turn_id: str
    session_key: str
    session_id: str
    prompt: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn is running. The prompt can be shown; its row may not be stored yet."""

    turn_id: str
    session_key: str
    session_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class TurnDelta:
    """More text of the reply. Joining all deltas of a kind gives the streamed text.

    Attributes:
        kind: ``text`` for the reply, ``reasoning`` for thinking that is shown folded; ``retracted``
            repeats the latest text, which was thinking and is taken back.
    """

    turn_id: str
    session_id: str
    text: str
    kind: Literal["text", "reasoning", "retracted"] = "text"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A turn started a tool.

    Attributes:
        call_id: Identifies the call within its turn.
        name: The tool.
        subject: What it works on, one line, without secrets.
        step: Number of the model's answer that requested it, from 1; 0 if unknown.
    """

    turn_id: str
    session_id: str
    call_id: str
    name: str
    subject: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool of a turn has ended.

    Attributes:
        ok: Whether it succeeded.
        seconds: How long it took.
        step: As in :class:`ToolStarted`.
    """

    turn_id: str
    session_id: str
    call_id: str
    name: str
    subject: str = ""
    ok: bool = True
    seconds: float = 0.0
    step: int = 0


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """A turn has ended, successfully or not.

    Attributes:
        session_id: The session it ended in (differs from the start after a rotation).
        last_message_id: Greatest row id the turn wrote, None when it wrote nothing.
        outcome: ``done``, ``stopped`` by the user, or ``failed``.
        reply: The whole final text ("" when there is none).
        error_title: What went wrong, "" if nothing did. The next two belong to it.
        error_detail: The cause.
        error_hint: What to do.
        error_kind: A stable identifier: ``busy``, ``session_gone``, or the kind of a ProviderError.
        stored: False when the prompt could not be stored: keep the typed text.
    """

    turn_id: str
    session_key: str
    session_id: str
    last_message_id: int | None
    outcome: Literal["done", "stopped", "failed"]
    reply: str = ""
    error_title: str = ""
    error_detail: str = ""
    error_hint: str = ""
    error_kind: str = ""
    stored: bool = True


@dataclass(frozen=True, slots=True)
class ContextUsed:
    """The context usage of a session.

    Attributes:
        used_tokens: Tokens used with the last answer.
        context_length: The size of the model's context; None if unknown.
        threshold: The usage at which the session is compacted; None if it never is.
        about: It was estimated from the stored messages; otherwise the model counted it.
    """

    session_id: str
    used_tokens: int
    context_length: int | None = None
    threshold: int | None = None
    about: bool = False


@dataclass(frozen=True, slots=True)
class TurnNote:
    """A note about a turn that the user should see while it runs.

    Attributes:
        text: One sentence; "" removes a passing note.
        lasting: It stays with the reply; otherwise it is removed when the turn continues.
    """

    turn_id: str
    session_id: str
    text: str
    lasting: bool = False
