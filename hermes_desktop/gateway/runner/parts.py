"""Composition of a runner from its parts."""

# ruff: noqa: SLF001 - replaceable methods have the names that other programs know

from typing import TYPE_CHECKING

from hermes_desktop.gateway.runner.admission import Admission
from hermes_desktop.gateway.runner.agents import AgentCache
from hermes_desktop.gateway.runner.background import BackgroundWork
from hermes_desktop.gateway.runner.boundaries import Boundaries
from hermes_desktop.gateway.runner.claims import Claims
from hermes_desktop.gateway.runner.control import TurnControl
from hermes_desktop.gateway.runner.execution import TurnExecution
from hermes_desktop.gateway.runner.hooks import HookCalls
from hermes_desktop.gateway.runner.housekeeping import Housekeeping
from hermes_desktop.gateway.runner.incoming import IncomingMessages
from hermes_desktop.gateway.runner.life_cycle import LifeCycle
from hermes_desktop.gateway.runner.queue import BusyChats, TurnQueue
from hermes_desktop.gateway.runner.reasoning import ReasoningChoices
from hermes_desktop.gateway.runner.recovery import Recovery, ResumeMarks
from hermes_desktop.gateway.runner.replies import Replies, StreamedReplies
from hermes_desktop.gateway.runner.state import RunnerStatus

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner


class RunnerParts:
    """The parts of one runner. Each is made from the state, the chats and parts above it.

    The methods of the runner that its owner may replace are looked up here, once.

    Args:
        runner: The runner; its state and its chats are shared by all parts.
    """

    def __init__(self, runner: "GatewayRunner") -> None:
        shared = (runner.state, runner.chats)
        self.status = RunnerStatus(*shared, runner._update_runtime_status)
        self.agents = AgentCache(
            *shared,
            remove=runner._evict_cached_agent,
            close_agent=runner._cleanup_agent_resources,
        )
        self.reasoning = ReasoningChoices(*shared)
        self.control = TurnControl(*shared, self.status, self.agents)
        self.hook_calls = HookCalls(runner.state)
        self.streams = StreamedReplies(runner.state)
        self.replies = Replies(runner.state, self.streams)
        self.incoming = IncomingMessages(*shared)
        self._make_turn_parts(runner)
        self._make_message_parts(runner)
        self._make_life_cycle(runner)

    def _make_turn_parts(self, runner: "GatewayRunner") -> None:
        """Make the parts that run turns."""
        shared = (runner.state, runner.chats)
        self.boundaries = Boundaries(
            *shared,
            self.agents,
            self.control,
            self.hook_calls,
            self.replies,
            session_info=runner._format_session_info,
        )
        self.claims = Claims(*shared, self.status, self.control)
        self.marks = ResumeMarks(*shared)
        self.execution = TurnExecution(
            *shared,
            self.claims,
            self.agents,
            self.reasoning,
            self.boundaries,
            self.control,
            self.hook_calls,
            self.streams,
            self.replies,
            self.incoming,
            self.marks,
            adopt_rotated=runner._adopt_rotated_session,
            sweep=runner._sweep_idle_cached_agents,
        )

    def _make_message_parts(self, runner: "GatewayRunner") -> None:
        """Make the parts that decide which turns to run."""
        shared = (runner.state, runner.chats)
        self.queue = TurnQueue(
            *shared, self.claims, self.execution, self.replies, self.incoming, self.marks
        )
        self.busy = BusyChats(*shared, self.control, self.queue, self.replies, self.marks)
        self.recovery = Recovery(
            *shared,
            self.marks,
            self.replies,
            enqueue=self.queue.enqueue,
            is_authorized=runner._is_user_authorized,
        )
        self.background = BackgroundWork(
            *shared,
            self.status,
            self.claims,
            self.execution,
            self.agents,
            self.control,
            self.replies,
        )
        self.admission = Admission(
            *shared,
            self.incoming,
            self.hook_calls,
            self.busy,
            self.queue,
            self.replies,
            gateway=runner,
            is_authorized=runner._is_user_authorized,
        )

    def _make_life_cycle(self, runner: "GatewayRunner") -> None:
        """Make the parts that start, watch and stop the others."""
        shared = (runner.state, runner.chats)
        self.housekeeping = Housekeeping(
            *shared, self.boundaries, sweep=runner._sweep_idle_cached_agents
        )
        self.life_cycle = LifeCycle(
            *shared,
            self.status,
            self.control,
            self.agents,
            self.hook_calls,
            self.incoming,
            self.streams,
            self.boundaries,
            self.claims,
            self.marks,
            self.recovery,
            self.background,
            self.admission,
            self.housekeeping,
            watch_expiry=runner._session_expiry_watcher,
        )
