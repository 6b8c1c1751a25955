"""How patiently the gateway runs: what stands in config.yaml beside the gateway's own section."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from hermes_desktop.gateway.coercion import as_bool, as_mapping, as_number, as_whole_number

BusyInputMode = Literal["interrupt", "queue", "steer"]
Lookup = Callable[[str], str | None]
"""Value of a named variable, or None."""


@dataclass(frozen=True, slots=True)
class RunningSettings:
    """Limits and manners of running turns. Times are seconds.

    Attributes:
        max_iterations: Calls of the model in one turn at most.
        agent_timeout_s: A turn that is silent for so long is interrupted; 0: never.
        agent_timeout_warning_s: When the chat is told that a turn is silent; 0: never.
        notify_interval_s: How often the chat hears of a long turn; 0: never.
        restart_drain_timeout_s: How long running turns may take when the gateway stops.
        resume_fresh_s: For how long a reply cut off by a restart is taken up again; 0: always.
        busy_input_mode: What a message does that comes while a reply is being written.
        busy_ack_enabled: Whether such a message is acknowledged.
        platform_connect_timeout_s: How long connecting a platform may take.
    """

    max_iterations: int = 90
    agent_timeout_s: float = 1800.0
    agent_timeout_warning_s: float = 900.0
    notify_interval_s: float = 180.0
    restart_drain_timeout_s: float = 15.0
    resume_fresh_s: float = 3600.0
    busy_input_mode: BusyInputMode = "interrupt"
    busy_ack_enabled: bool = True
    platform_connect_timeout_s: float = 30.0


def read_running_settings(data: Mapping[str, Any], lookup: Lookup) -> RunningSettings:
    """Read them from config.yaml and, where it is silent, from variables.

    Args:
        data: config.yaml as read.
        lookup: Values of variables.
    """
    base = RunningSettings()

    def setting(section: str, key: str, variable: str) -> object:
        value = as_mapping(data.get(section)).get(key)
        return lookup(variable) if value is None else value

    def seconds(section: str, key: str, variable: str, default: float) -> float:
        return as_number(setting(section, key, variable), default=default)

    mode = str(setting("display", "busy_input_mode", "HERMES_GATEWAY_BUSY_INPUT_MODE"))
    mode = mode.strip().lower()
    return RunningSettings(
        max_iterations=as_whole_number(
            setting("agent", "max_turns", "HERMES_MAX_ITERATIONS"),
            default=base.max_iterations,
            low=1,
        ),
        agent_timeout_s=seconds(
            "agent", "gateway_timeout", "HERMES_AGENT_TIMEOUT", base.agent_timeout_s
        ),
        agent_timeout_warning_s=seconds(
            "agent",
            "gateway_timeout_warning",
            "HERMES_AGENT_TIMEOUT_WARNING",
            base.agent_timeout_warning_s,
        ),
        notify_interval_s=seconds(
            "agent",
            "gateway_notify_interval",
            "HERMES_AGENT_NOTIFY_INTERVAL",
            base.notify_interval_s,
        ),
        restart_drain_timeout_s=seconds(
            "agent",
            "restart_drain_timeout",
            "HERMES_RESTART_DRAIN_TIMEOUT",
            base.restart_drain_timeout_s,
        ),
        resume_fresh_s=seconds(
            "agent",
            "gateway_auto_continue_freshness",
            "HERMES_AUTO_CONTINUE_FRESHNESS",
            base.resume_fresh_s,
        ),
        busy_input_mode=cast(BusyInputMode, mode)
        if mode in get_args(BusyInputMode)
        else base.busy_input_mode,
        busy_ack_enabled=as_bool(
            setting("display", "busy_ack_enabled", "HERMES_GATEWAY_BUSY_ACK_ENABLED"),
            default=base.busy_ack_enabled,
        ),
        platform_connect_timeout_s=seconds(
            "gateway",
            "platform_connect_timeout",
            "HERMES_GATEWAY_PLATFORM_CONNECT_TIMEOUT",
            base.platform_connect_timeout_s,
        ),
    )
