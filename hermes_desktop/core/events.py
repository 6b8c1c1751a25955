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
class GatewayStatusChanged:
    """The embedded gateway went to another state.

    Attributes:
        state: ``stopped``, ``starting``, ``running``, ``working`` (turns run), ``stopping``.
        detail: One sentence for a person.
        running_turns: How many turns run right now.
    """

    state: Literal["stopped", "starting", "running", "working", "stopping"]
    detail: str = ""
    running_turns: int = 0


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
    | TurnFinished
    | GatewayStatusChanged
    | Notice
    | NoticeCleared
)
