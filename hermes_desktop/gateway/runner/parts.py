"""Composition of a runner from its parts."""

# ruff: noqa: SLF001 - replaceable methods have the names that other programs know

from typing import TYPE_CHECKING

from hermes_desktop.gateway.runner.admission import Admission
from hermes_desktop.gateway.runner.agents import AgentCache
from hermes_desktop.gateway.runner.background import BackgroundWork
from hermes_desktop.gateway.runner.boundaries import Boundaries
from hermes_desktop.gateway.runner.claims import Claims
from hermes_desktop.gateway.runner.control import TurnControl
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.execution import TurnExecution, TurnParts
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
    """The parts of one runner. Each is made from parts above it.

    The methods of the runner that its owner may replace are looked up here, once.

    Args:
        runner: The runner; its state and its chats are shared by all parts.
    """

    def __init__(self, runner: "GatewayRunner") -> None:
        core = _core_parts(runner)
        self.status, self.agents, self.control = core.status, core.agents, core.control
        self.hook_calls, self.replies, self.incoming = core.hook_calls, core.replies, core.incoming
        turns = _turn_parts(runner, core)
        self.reasoning, self.boundaries = turns.reasoning, turns.boundaries
        self.execution = TurnExecution(
            core,
            turns,
            adopt_rotated=runner._adopt_rotated_session,
            sweep=runner._sweep_idle_cached_agents,
        )
        self.queue = TurnQueue(core, turns, self.execution)
        self.background = BackgroundWork(core, turns.claims, self.execution)
        self.admission = Admission(
            core,
            BusyChats(core, self.queue, turns.marks),
            self.queue,
            gateway=runner,
            is_authorized=runner._is_user_authorized,
        )
        self.housekeeping = Housekeeping(
            runner.state,
            runner.chats,
            self.boundaries,
            sweep=runner._sweep_idle_cached_agents,
        )
        self.life_cycle = LifeCycle(
            core,
            turns,
            Recovery(
                core,
                turns.marks,
                enqueue=self.queue.enqueue,
                is_authorized=runner._is_user_authorized,
            ),
            self.background,
            self.admission,
            self.housekeeping,
            watch_expiry=runner._session_expiry_watcher,
        )


def _core_parts(runner: "GatewayRunner") -> CoreParts:
    shared = (runner.state, runner.chats)
    status = RunnerStatus(*shared, runner._update_runtime_status)
    agents = AgentCache(
        *shared,
        remove=runner._evict_cached_agent,
        close_agent=runner._cleanup_agent_resources,
    )
    streams = StreamedReplies(runner.state)
    return CoreParts(
        *shared,
        status,
        agents,
        control=TurnControl(*shared, status, agents),
        hook_calls=HookCalls(runner.state),
        streams=streams,
        replies=Replies(runner.state, streams),
        incoming=IncomingMessages(*shared),
    )


def _turn_parts(runner: "GatewayRunner", core: CoreParts) -> TurnParts:
    shared = (runner.state, runner.chats)
    return TurnParts(
        reasoning=ReasoningChoices(*shared),
        boundaries=Boundaries(core, session_info=runner._format_session_info),
        claims=Claims(*shared, core.status, core.control),
        marks=ResumeMarks(*shared),
    )
