"""How patiently the gateway runs: what stands in config.yaml beside the gateway's own section."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_number, as_whole_number
from hermes_desktop.settings.config_file import Lookup

BusyInputMode = Literal["interrupt", "queue", "steer"]


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
        delivery_ledger: Whether replies are noted before they are sent, to be brought later.
        confirm_destructive_commands: Whether a person is asked before a command takes something
            out of a conversation.
        show_reasoning: Whether chats see what the model thinks.
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
    delivery_ledger: bool = True
    confirm_destructive_commands: bool = True
    show_reasoning: bool = False


# Field → section and key in config.yaml, and the variable that counts where these are silent.
_PLACES: Mapping[str, tuple[str, str, str]] = {
    "max_iterations": ("agent", "max_turns", "HERMES_MAX_ITERATIONS"),
    "agent_timeout_s": ("agent", "gateway_timeout", "HERMES_AGENT_TIMEOUT"),
    "agent_timeout_warning_s": (
        "agent",
        "gateway_timeout_warning",
        "HERMES_AGENT_TIMEOUT_WARNING",
    ),
    "notify_interval_s": ("agent", "gateway_notify_interval", "HERMES_AGENT_NOTIFY_INTERVAL"),
    "restart_drain_timeout_s": ("agent", "restart_drain_timeout", "HERMES_RESTART_DRAIN_TIMEOUT"),
    "resume_fresh_s": (
        "agent",
        "gateway_auto_continue_freshness",
        "HERMES_AUTO_CONTINUE_FRESHNESS",
    ),
    "busy_input_mode": ("display", "busy_input_mode", "HERMES_GATEWAY_BUSY_INPUT_MODE"),
    "busy_ack_enabled": ("display", "busy_ack_enabled", "HERMES_GATEWAY_BUSY_ACK_ENABLED"),
    "platform_connect_timeout_s": (
        "gateway",
        "platform_connect_timeout",
        "HERMES_GATEWAY_PLATFORM_CONNECT_TIMEOUT",
    ),
    "delivery_ledger": ("gateway", "delivery_ledger", ""),
    "show_reasoning": ("display", "show_reasoning", ""),
    "confirm_destructive_commands": ("approvals", "destructive_slash_confirm", ""),
}


def read_running_settings(data: Mapping[str, Any], lookup: Lookup) -> RunningSettings:
    """Read them from config.yaml and, where it is silent, from variables.

    Args:
        data: config.yaml as read.
        lookup: Values of variables.
    """
    base = RunningSettings()
    found: dict[str, Any] = {}
    for field, (section, key, variable) in _PLACES.items():
        given = as_mapping(data.get(section)).get(key)
        value = lookup(variable) if given is None else given
        found[field] = _read(value, default=getattr(base, field))
    mode = str(found["busy_input_mode"])
    found["busy_input_mode"] = mode if mode in get_args(BusyInputMode) else base.busy_input_mode
    return RunningSettings(**found)


def _read(value: object, *, default: Any) -> Any:
    """A value in the kind of its default."""
    if isinstance(default, bool):
        return as_bool(value, default=default)
    if isinstance(default, int):
        return as_whole_number(value, default=default, low=1)
    if isinstance(default, float):
        return as_number(value, default=default)
    return str(value).strip().lower()
