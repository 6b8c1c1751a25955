"""What a runner knows of its chats: one record per session key, and views of single fields."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from hermes_desktop.gateway.turns.agent_cache import CacheEntry
from hermes_desktop.gateway.turns.turn import TurnRecord

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner
    from hermes_desktop.gateway.runner.claims import TurnSlot

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class ChatRecord:
    """One chat of a runner.

    Attributes:
        turn: The running turn.
        agent: The agent of the running turn, or the sentinel before.
        running_since: When that turn started, in seconds since the epoch.
        slot: The turn slot that it occupies or has lent out.
        generation: The number of the latest claim of the session key.
        waiting: The turns that wait, in order.
        long_command: Stops the long-running command of the chat.
        acknowledged_at: When the chat was last told what happens to a message, in monotonic
            seconds.
        cached_agent: The entry of the agent that is kept between turns.
        agent_used_at: When that agent was used last, in monotonic seconds.
        was_marked: The chat was marked as interrupted when this run started.
        unanswered: A message whose reply was interrupted and that was followed by other messages in
            its session.
        resumed: This run has already processed the interruption of the chat.
        attempt_counted: An attempt to resume the chat was counted, and its turn has not begun.
        marked_here: This run has marked the chat: it answers it itself.
        voice_mode: Whether replies are spoken; a setting of other gateways, kept as it is.
        shows_reasoning: Whether the chat sees the model's reasoning; None: as configured.
        model_override: The model chosen for the session.
        reasoning_override: The reasoning settings chosen before the session has a row.
        model_note: A note on the model for the next turn.
        pending_message: A message that waits, as other gateways record it.
        pending_approval: An approval that waits, likewise.
    """

    turn: TurnRecord | None = None
    agent: Any = None
    running_since: float | None = None
    slot: "TurnSlot | None" = None
    generation: int = 0
    waiting: list[TurnRecord] = field(default_factory=list)
    long_command: Event | None = None
    acknowledged_at: float | None = None
    cached_agent: CacheEntry | None = None
    agent_used_at: float | None = None
    was_marked: bool = False
    unanswered: str | None = None
    resumed: bool = False
    attempt_counted: bool = False
    marked_here: bool = False
    voice_mode: str | None = None
    shows_reasoning: bool | None = None
    model_override: dict[str, str] | None = None
    reasoning_override: dict[str, str] | None = None
    model_note: str | None = None
    pending_message: Any = None
    pending_approval: Any = None

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits."""
        return self.agent is not None or bool(self.waiting)

    def clear_session_choices(self) -> None:
        """Clear the choices and requests that apply to one session only."""
        self.model_override = self.reasoning_override = self.model_note = None
        self.pending_approval = None


class Chats:
    """The chats of one runner by session key. A record is small and stays as long as the runner.

    Records are created and iterated on any thread; each field belongs to the thread of the part
    that writes it.
    """

    def __init__(self) -> None:
        self._records: dict[str, ChatRecord] = {}

    def __getitem__(self, session_key: str) -> ChatRecord:
        """Return the record of a chat; it is created when there is none yet."""
        record = self._records.get(session_key)
        return record or self._records.setdefault(session_key, ChatRecord())

    def peek(self, session_key: str) -> ChatRecord:
        """Return the record of a chat for reading; an empty one, which is not kept, if unknown."""
        return self._records.get(session_key) or ChatRecord()

    def items(self) -> tuple[tuple[str, ChatRecord], ...]:
        """Return all records with their session keys."""
        return tuple(self._records.items())

    def is_busy(self, session_key: str) -> bool:
        """Return whether a turn of a chat runs or waits."""
        return self.peek(session_key).is_busy

    def view(self, name: str) -> "ChatView[Any]":
        """Return one field of :class:`ChatRecord` as a mapping by session key."""
        return ChatView(self, name)

    @property
    def turns(self) -> dict[str, TurnRecord]:
        """The running turns by session key."""
        return {key: each.turn for key, each in self.items() if each.turn is not None}

    @property
    def waiting(self) -> dict[str, list[TurnRecord]]:
        """The waiting turns by session key, in order."""
        return {key: each.waiting for key, each in self.items() if each.waiting}

    @property
    def agents(self) -> "ChatView[Any]":
        """The agents of the running turns by session key."""
        return self.view("agent")

    @property
    def cached_agents(self) -> "ChatView[CacheEntry]":
        """The agents that are kept between turns by session key."""
        return self.view("cached_agent")


class ChatView(MutableMapping[str, T]):
    """One field of all chats that have it, as a mapping by session key."""

    def __init__(self, chats: Chats, name: str) -> None:
        self._chats = chats
        self._name = name

    def __getitem__(self, session_key: str) -> T:
        value: T | None = getattr(self._chats.peek(session_key), self._name)
        if value is None:
            raise KeyError(session_key)
        return value

    def __setitem__(self, session_key: str, value: T) -> None:
        setattr(self._chats[session_key], self._name, value)

    def __delitem__(self, session_key: str) -> None:
        self[session_key]
        setattr(self._chats[session_key], self._name, None)

    def __iter__(self) -> Iterator[str]:
        found = self._chats.items()
        return iter([key for key, each in found if getattr(each, self._name) is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))


class ChatMapping(Generic[T]):
    """Attribute of a runner that shows one field of its chats; assigning replaces all values.

    Args:
        name: The field of :class:`ChatRecord`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, runner: None, owner: object) -> "ChatMapping[T]": ...
    @overload
    def __get__(self, runner: "GatewayRunner", owner: object) -> ChatView[T]: ...
    def __get__(
        self, runner: "GatewayRunner | None", owner: object
    ) -> "ChatView[T] | ChatMapping[T]":
        return self if runner is None else ChatView(runner.chats, self._name)

    def __set__(self, runner: "GatewayRunner", values: Mapping[str, T]) -> None:
        view: ChatView[T] = ChatView(runner.chats, self._name)
        given = dict(values)
        view.clear()
        view.update(given)
