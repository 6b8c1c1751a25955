"""The parts of a runner that the other parts are made from."""

from dataclasses import dataclass

from hermes_desktop.gateway.runner.agents import AgentCache
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.control import TurnControl
from hermes_desktop.gateway.runner.hooks import HookCalls
from hermes_desktop.gateway.runner.incoming import IncomingMessages
from hermes_desktop.gateway.runner.replies import Replies, StreamedReplies
from hermes_desktop.gateway.runner.state import RunnerState, RunnerStatus


@dataclass(frozen=True, slots=True)
class CoreParts:
    """The state of a runner, its chats, and the parts that need nothing else.

    Attributes:
        state: The state of the runner.
        chats: What is known of each chat.
        status: Publishes what the runner does.
        agents: The agents that are kept between turns.
        control: Interrupts and disowns turns.
        hook_calls: Calls plugins and event hooks.
        streams: Replies that grow in their chats.
        replies: Sends texts to chats.
        incoming: Messages that are not yet answered.
    """

    state: RunnerState
    chats: Chats
    status: RunnerStatus
    agents: AgentCache
    control: TurnControl
    hook_calls: HookCalls
    streams: StreamedReplies
    replies: Replies
    incoming: IncomingMessages
