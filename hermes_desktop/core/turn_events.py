"""What happens in a turn, as frozen records: pieces, tools, questions, its end."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TurnQueued:
    """A message waits because its session, or every worker, is busy.

    Attributes:
        reason: For which other program it waits, in a sentence; "" for a reply of this one.
    """

    turn_id: str
    session_key: str
    session_id: str
    prompt: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn runs now. The prompt can be shown; its row may not be stored yet."""

    turn_id: str
    session_key: str
    session_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class TurnDelta:
    """More text of the reply. Joining all deltas of a kind gives what was streamed.

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
    """A turn began to do something beside talking.

    Attributes:
        call_id: Names the call within its turn.
        name: The tool.
        subject: What it works on, one line, without secrets.
        step: Which answer of the model wants it, from 1; 0 when nobody tells.
    """

    turn_id: str
    session_id: str
    call_id: str
    name: str
    subject: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool of a turn is over.

    Attributes:
        ok: Whether it did what was wanted.
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


ApprovalChoice = Literal["once", "session", "always", "deny"]


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """Something that may do harm waits for a person's word.

    Attributes:
        request_id: Answers name it.
        session_key: The chat it came from.
        session_id: Its conversation.
        platform: Where that is held: ``desktop``, ``cli``, ``telegram``, …
        tool: The tool.
        what: The command or the file, without secrets.
        where: The folder it works in.
        why: Why it is held, one sentence per reason.
        choices: What may be answered.
        expires_at: When it is denied by itself, in seconds since the epoch.
    """

    request_id: str
    session_key: str
    session_id: str
    platform: str
    tool: str
    what: str
    where: str
    why: tuple[str, ...]
    choices: tuple[ApprovalChoice, ...]
    expires_at: float


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """A question does not wait any more.

    Attributes:
        choice: How it ended.
        reason: ``answered``, ``timeout``, ``stopped``, ``nobody``, ``gone`` or ``ended``.
        by: Where it was answered: ``window``, ``terminal``, ``rpc``, a platform; "" by nobody.
    """

    request_id: str
    session_key: str
    session_id: str
    choice: ApprovalChoice
    reason: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The assistant waits for a person's answer. Its texts are untrusted.

    Attributes:
        request_id: Answers name it.
        session_key: The chat it came from.
        session_id: Its conversation.
        platform: Where that is held: ``desktop``, ``cli``, ``telegram``, …
        text: What it wants to know.
        choices: Answers to choose from; may be empty, and any other may be given.
        expires_at: When it goes on without one, in seconds since the epoch.
    """

    request_id: str
    session_key: str
    session_id: str
    platform: str
    text: str
    choices: tuple[str, ...]
    expires_at: float


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A question of the assistant does not wait any more.

    Attributes:
        text: The answer, "" when there is none.
        reason: ``answered``, ``timeout``, ``stopped``, ``nobody``, ``gone`` or ``ended``.
        by: Where it was answered, as in :class:`ApprovalResolved`.
    """

    request_id: str
    session_key: str
    session_id: str
    text: str
    reason: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """A turn is over, well or not.

    Attributes:
        session_id: The session it ended in (differs from the start after a rotation).
        last_message_id: Greatest row id the turn wrote, None when it wrote nothing.
        outcome: ``done``, ``stopped`` by the person, or ``failed``.
        reply: The whole final text ("" when there is none).
        error_title: What went wrong, "" if nothing did. The next two belong to it.
        error_detail: Why.
        error_hint: What to do.
        error_kind: A stable word: ``busy``, ``session_gone``, or the kind of a ProviderError.
        stored: False when the prompt could not be stored: keep what was typed.
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
    """How much of what its model can be told a session takes now.

    Attributes:
        used_tokens: With the last answer.
        context_length: How much the model can be told; None when nobody knows.
        threshold: From where on the session is shortened; None when it is not.
        about: It was estimated from what is stored; else the model counted.
    """

    session_id: str
    used_tokens: int
    context_length: int | None = None
    threshold: int | None = None
    about: bool = False


@dataclass(frozen=True, slots=True)
class TurnNote:
    """Something about a turn that a person should know while it runs.

    Attributes:
        text: One sentence; "" takes a passing note away.
        lasting: It stays with the reply; else it goes when the turn goes on.
    """

    turn_id: str
    session_id: str
    text: str
    lasting: bool = False
