"""What happened, as frozen records. One class per kind of news; no behaviour.

*Liveliness* (turns, gateway status) is published by whoever does it. *Data* (which sessions
changed) is published by the state watcher alone, whoever wrote.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SessionsChanged:
    """Rows of state.db are not what they were.

    Attributes:
        session_ids: Sessions whose row or messages changed (or appeared).
        removed_ids: Sessions whose row is gone.
        reload_all: True when we cannot tell which; everything must be read again.
    """

    session_ids: frozenset[str] = frozenset()
    removed_ids: frozenset[str] = frozenset()
    reload_all: bool = False


@dataclass(frozen=True, slots=True)
class StateFileChanged:
    """The file behind state.db was replaced, vanished or came back."""

    description: str


@dataclass(frozen=True, slots=True)
class TurnQueued:
    """A message waits because its session, or every worker, is busy."""

    turn_id: str
    session_key: str
    session_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn runs now. The prompt can be shown; its row may not be stored yet."""

    turn_id: str
    session_key: str
    session_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class TurnDelta:
    """More text of the reply. Joining all deltas of a turn gives the streamed text.

    Attributes:
        kind: ``text`` for the reply, ``reasoning`` for thinking that is shown folded.
    """

    turn_id: str
    session_id: str
    text: str
    kind: Literal["text", "reasoning"] = "text"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A turn began to do something beside talking.

    Attributes:
        call_id: Names the call within its turn.
        name: The tool.
        subject: What it works on, one line, without secrets.
    """

    turn_id: str
    session_id: str
    call_id: str
    name: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool of a turn is over.

    Attributes:
        ok: Whether it did what was wanted.
        seconds: How long it took.
    """

    turn_id: str
    session_id: str
    call_id: str
    name: str
    subject: str = ""
    ok: bool = True
    seconds: float = 0.0


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
        reason: ``answered``, ``timeout``, ``stopped`` or ``nobody``.
    """

    request_id: str
    session_key: str
    session_id: str
    choice: ApprovalChoice
    reason: str


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


GatewayState = Literal[
    "stopped", "starting", "running", "working", "degraded", "stopping", "attached"
]


HealthState = Literal[
    "connecting",
    "connected",
    "silent",
    "retrying",
    "paused",
    "fatal",
    "disabled",
    "unavailable",
]


@dataclass(frozen=True, slots=True)
class PlatformHealth:
    """How one messaging platform is doing, computed when it was asked for.

    Attributes:
        name: Value of the platform, such as ``telegram``.
        state: ``connected`` only while its server was heard of lately; ``silent`` when it should
            have been and was not; ``unavailable`` when this version cannot serve it.
        last_heard_at: When its server was last heard of, in seconds since the epoch.
        detail: One sentence for a person, "" when all is well.
        next_try_at: When connecting is tried again, in seconds since the epoch.
    """

    name: str
    state: HealthState
    last_heard_at: float | None = None
    detail: str = ""
    next_try_at: float | None = None


@dataclass(frozen=True, slots=True)
class OtherGateway:
    """The gateway of another program that runs for this home.

    Attributes:
        name: What it is, for a person: ``hermes gateway`` or ``another Hermes Desktop``.
        started_at: When its process began, in seconds since the epoch; None when nobody tells.
        state: What it says about itself, "" when it does not.
    """

    name: str
    pid: int
    started_at: float | None = None
    state: str = ""
    platforms: tuple[PlatformHealth, ...] = ()


@dataclass(frozen=True, slots=True)
class HostingRefusal:
    """Why the gateway was not started, and what a person can do about it.

    Attributes:
        would_not_run: What others would wait for in vain if the gateway were started here.
        may_insist: Whether starting it all the same makes sense.
    """

    title: str
    detail: str = ""
    hint: str = ""
    would_not_run: tuple[str, ...] = ()
    may_insist: bool = False


@dataclass(frozen=True, slots=True)
class GatewayStatusChanged:
    """The embedded gateway went to another state.

    Attributes:
        state: ``stopped``, ``starting``, ``running``, ``working`` (turns run), ``degraded`` (a
            platform does not work), ``stopping``, ``attached`` (another gateway has the home).
        detail: One sentence for a person.
        running_turns: How many turns run right now, those of the desktop's own chat included.
        platforms: The messaging platforms of this gateway, sorted by name.
        other: The other gateway, while there is one.
        refusal: Why it was not started, until it is.
    """

    state: GatewayState
    detail: str = ""
    running_turns: int = 0
    platforms: tuple[PlatformHealth, ...] = ()
    other: OtherGateway | None = None
    refusal: HostingRefusal | None = None


@dataclass(frozen=True, slots=True)
class PairingChanged:
    """Somebody asks to be let in, or was answered: the requests are to be read again."""


@dataclass(frozen=True, slots=True)
class SessionReset:
    """A chat of a messaging platform began anew by itself.

    Attributes:
        reason: ``idle``, ``daily``, ``suspended`` or ``resume_pending_expired``.
        text: The same words the chat was told.
    """

    session_key: str
    platform: str
    chat_name: str
    old_session_id: str
    new_session_id: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """One setting that was changed.

    Attributes:
        key: Its name; of a secret the variable.
        effect: When it counts: ``live``, ``reconnect``, ``restart`` or ``next start``.
        platform: The platform it belongs to, "" for none.
    """

    key: str
    effect: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings were changed here; what they are now stands in the files."""

    changes: tuple[SettingChanged, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell a person in the strip above the page.

    Attributes:
        level: How it is drawn and how long it stays (errors stay).
        key: Notices of the same key replace each other; "" never replaces.
        action: Words of the button in it, "" for none; what it does is known by the key.
    """

    level: Literal["info", "ok", "warning", "error"]
    title: str
    detail: str = ""
    hint: str = ""
    key: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class NoticeCleared:
    """The matter of the notice with this key is settled."""

    key: str


Event = (
    SessionsChanged
    | StateFileChanged
    | TurnQueued
    | TurnStarted
    | TurnDelta
    | ToolStarted
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | TurnFinished
    | GatewayStatusChanged
    | PairingChanged
    | SessionReset
    | SettingsChanged
    | Notice
    | NoticeCleared
)
