"""The events of the program, as frozen records. One class per kind of event; no behavior.

*Activity* events (turns, gateway status) are published by the component that is active. *Data*
events (which sessions changed) are published by the state watcher alone, whichever program wrote.
"""

from dataclasses import dataclass, field
from typing import Literal

from hermes_desktop.core.user_requests import RequestPending, RequestResolved


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
            repeats the latest text, which turned out to be thinking.
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
    """The health of one messaging platform, computed on request.

    Attributes:
        name: Value of the platform, such as ``telegram``.
        state: ``connected`` only if its server has responded recently; ``silent`` when a response
            is overdue; ``unavailable`` when this version cannot serve it.
        last_heard_at: When its server last responded, in seconds since the epoch.
        detail: One sentence for the user, "" when all is well.
        next_try_at: When the next connection attempt is made, in seconds since the epoch.
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
        name: Its name for the user: ``hermes gateway`` or ``another Hermes Desktop``.
        started_at: When its process started, in seconds since the epoch; None if unknown.
        state: The state it reports, "" if it reports none.
    """

    name: str
    pid: int
    started_at: float | None = None
    state: str = ""
    platforms: tuple[PlatformHealth, ...] = ()


@dataclass(frozen=True, slots=True)
class HostingRefusal:
    """The reason why the gateway was not started, and what the user can do about it.

    Attributes:
        would_not_run: Work that would not be done if the gateway were started here.
        may_insist: Whether starting it anyway makes sense.
    """

    title: str
    detail: str = ""
    hint: str = ""
    would_not_run: tuple[str, ...] = ()
    may_insist: bool = False


@dataclass(frozen=True, slots=True)
class UndoneWork:
    """Work that ``hermes`` expects from a running gateway and that Hermes Desktop does not do.

    Attributes:
        jobs: How many scheduled jobs.
        cards: How many kanban cards.
        job_names: Some of the jobs, each in one short line.
        board_names: Some of the boards, in the same form.
        boards: How many boards the cards are on.
    """

    jobs: int = 0
    cards: int = 0
    job_names: tuple[str, ...] = ()
    board_names: tuple[str, ...] = ()
    boards: int = 0


@dataclass(frozen=True, slots=True)
class GatewayStatusChanged:
    """The state of the embedded gateway changed.

    Attributes:
        state: ``stopped``, ``starting``, ``running``, ``working`` (turns run), ``degraded`` (a
            platform does not work), ``stopping``, ``attached`` (another gateway has the home).
        detail: One sentence for the user.
        running_turns: How many turns run now, those of the desktop's own chat included.
        waiting_turns: How many of them wait for the user's answer.
        platforms: The messaging platforms of this gateway, sorted by name.
        other: The other gateway, while there is one.
        refusal: Why it was not started, until it is.
        offers_start: It was stopped from outside, or the other gateway ended, and it stays off
            until the user starts it; ``detail`` gives the reason.
        undone: What does not run while a Hermes Desktop, this or another one, has the home.
        since: When our gateway started serving, in seconds since the epoch; None while it does not.
    """

    state: GatewayState
    detail: str = ""
    running_turns: int = 0
    platforms: tuple[PlatformHealth, ...] = ()
    other: OtherGateway | None = None
    refusal: HostingRefusal | None = None
    offers_start: bool = False
    undone: UndoneWork | None = None
    since: float | None = field(default=None, compare=False)
    waiting_turns: int = 0


@dataclass(frozen=True, slots=True)
class PairingChanged:
    """A pairing request arrived or was answered: read the requests again."""


@dataclass(frozen=True, slots=True)
class SessionReset:
    """A new session was started automatically in a chat of a messaging platform.

    Attributes:
        reason: ``idle``, ``daily``, ``suspended`` or ``resume_pending_expired``.
        text: The text that was sent to the chat.
    """

    session_key: str
    platform: str
    chat_name: str
    old_session_id: str
    new_session_id: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class SessionsChanged:
    """Rows of state.db have changed.

    Attributes:
        session_ids: Sessions whose row or messages changed (or appeared).
        removed_ids: Sessions whose row was deleted.
        reload_all: True when the changed sessions are unknown; everything must be read again.
    """

    session_ids: frozenset[str] = frozenset()
    removed_ids: frozenset[str] = frozenset()
    reload_all: bool = False


@dataclass(frozen=True, slots=True)
class StateFileChanged:
    """The file behind state.db was replaced, vanished or reappeared."""

    description: str


@dataclass(frozen=True, slots=True)
class StoreConditionChanged:
    """Whether conversations may be written has changed; query the store."""


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """One changed setting.

    Attributes:
        key: Its name; for a secret, the variable.
        effect: When it takes effect: ``live``, ``reconnect``, ``restart`` or ``next start``.
        platform: The platform it belongs to, "" for none.
    """

    key: str
    effect: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings were changed here; the current values are in the files."""

    changes: tuple[SettingChanged, ...]


OFFERED_SESSION = "session:"
"""Prefix of the key of a notice whose action opens a session; the session's id follows."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to the user in the strip above the page.

    Attributes:
        level: How it is drawn and how long it stays (errors stay).
        key: Notices of the same key replace each other; "" never replaces.
        action: Label of its button, "" for none; the key determines what the button does.
    """

    level: Literal["info", "ok", "warning", "error"]
    title: str
    detail: str = ""
    hint: str = ""
    key: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class NoticeCleared:
    """The cause of the notice with this key is resolved."""

    key: str


@dataclass(frozen=True, slots=True)
class NewRelease:
    """A released version of this program that is newer than the running one.

    Attributes:
        version: Its number.
        date: The day of its release, ``YYYY-MM-DD``.
        notes: What is new, plain text from outside; "" if nothing is said.
        page: Its web page, an ``https`` address; "" for none.
        update: How this installation is updated, as a sentence.
        command: The command that updates this installation; "" where there is none.
    """

    version: str
    date: str
    notes: str = ""
    page: str = ""
    update: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class VersionsChanged:
    """What is known about other versions of this program than the running one.

    Attributes:
        running: The running version.
        previous: The version that ran before an update, told once; "" for none.
        installed: The version on the disk, if it is another than the running one; else "".
        release: A newer release that the user did not dismiss.
    """

    running: str
    previous: str = ""
    installed: str = ""
    release: NewRelease | None = None


Event = (
    SessionsChanged
    | StateFileChanged
    | StoreConditionChanged
    | TurnQueued
    | TurnStarted
    | TurnDelta
    | ToolStarted
    | ToolFinished
    | RequestPending
    | RequestResolved
    | ContextUsed
    | TurnNote
    | TurnFinished
    | GatewayStatusChanged
    | PairingChanged
    | SessionReset
    | SettingsChanged
    | Notice
    | NoticeCleared
    | VersionsChanged
)
