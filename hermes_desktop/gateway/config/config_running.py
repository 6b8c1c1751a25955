"""Runtime settings of the gateway that config.yaml keeps in other sections than the gateway's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_number, as_whole_number
from hermes_desktop.settings.config_file import Lookup

BusyInputMode = Literal["interrupt", "queue", "steer"]


@dataclass(frozen=True, slots=True)
class RunningSettings:
    """Limits and behavior of running turns. Times are in seconds.

    Attributes:
        max_iterations: Maximum number of model calls in one turn.
        agent_timeout_s: Inactivity after which a turn is interrupted; 0: never.
        agent_timeout_warning_s: Inactivity after which the chat is notified; 0: never.
        notify_interval_s: How often the chat is notified of a long turn; 0: never.
        restart_drain_timeout_s: How long running turns may take when the gateway stops.
        resume_fresh_s: For how long a reply interrupted by a restart is resumed; 0: always.
        busy_input_mode: The effect of a message that arrives while a reply is being written.
        busy_ack_enabled: Whether such a message is acknowledged.
        platform_connect_timeout_s: How long connecting a platform may take.
        delivery_ledger: Whether replies are recorded before they are sent, to be delivered later.
        confirm_destructive_commands: Whether the user must confirm a command that removes something
            from a session.
        show_reasoning: Whether chats see the model's reasoning.
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


# Field → section and key in config.yaml, and the variable that is used when these are not set.
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
    """Read the settings from config.yaml and, where a key is missing, from variables.

    Args:
        data: config.yaml as read.
        lookup: Returns the values of variables.
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
    """Return a value converted to the type of its default."""
    if isinstance(default, bool):
        return as_bool(value, default=default)
    if isinstance(default, int):
        return as_whole_number(value, default=default, low=1)
    if isinstance(default, float):
        return as_number(value, default=default)
    return str(value).strip().lower()
