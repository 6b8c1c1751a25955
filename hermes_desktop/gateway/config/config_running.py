"""Runtime settings of the gateway that config.yaml keeps in other sections than the gateway's."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_number, as_whole_number
from hermes_desktop.settings.config_file import Lookup
from hermes_desktop.settings.options import Effect, Option, setting, settings_of

BusyInputMode = Literal["interrupt", "queue", "steer"]

_A_DAY = 86_400
_setting = partial(setting, section="Replies")


@dataclass(frozen=True, slots=True)
class RunningSettings:
    """Limits and behavior of running turns. Times are in seconds.

    Attributes:
        max_iterations: Maximum number of model calls in one turn.
        restart_drain_timeout_s: How long running turns may take when the gateway stops.
        busy_input_mode: The effect of a message that arrives while a reply is being written.
        show_reasoning: Whether chats see the model's reasoning.
        agent_timeout_s: Inactivity after which a turn is interrupted; 0: never.
        agent_timeout_warning_s: Inactivity after which the chat is notified; 0: never.
        notify_interval_s: How often the chat is notified of a long turn; 0: never.
        resume_fresh_s: For how long a reply interrupted by a restart is resumed; 0: always.
        busy_ack_enabled: Whether such a message is acknowledged.
        confirm_destructive_commands: Whether the user must confirm a command that removes something
            from a session.
        delivery_ledger: Whether replies are recorded before they are sent, to be delivered later.
        platform_connect_timeout_s: How long connecting a platform may take.
    """

    max_iterations: int = _setting(
        "agent.max_turns",
        90,
        title="Model calls per turn",
        help="A turn stops when it needs more.",
        minimum=1,
        maximum=1000,
        variables=("HERMES_MAX_ITERATIONS",),
        consequence="A low number interrupts long work; a high one lets a mistaken agent continue.",
    )
    restart_drain_timeout_s: float = _setting(
        "agent.restart_drain_timeout",
        15.0,
        title="Time for running replies (seconds)",
        help="How long running replies have to finish when the gateway restarts.",
        minimum=0,
        maximum=3600,
        variables=("HERMES_RESTART_DRAIN_TIMEOUT",),
        consequence="With 0, they are interrupted immediately and resumed after the restart. "
        "If this is not set, `hermes` uses 0.",
    )
    busy_input_mode: BusyInputMode = _setting(  # noqa: RUF009 - a declaration
        "display.busy_input_mode",
        "interrupt",
        title="Messages during a reply",
        help="What happens to a message that arrives while a reply is being written.",
        choices={
            "interrupt": "it interrupts the reply and is answered instead",
            "queue": "it waits for its turn",
            "steer": "the agent receives it at its next step",
        },
        variables=("HERMES_GATEWAY_BUSY_INPUT_MODE",),
    )
    show_reasoning: bool = _setting(
        "display.show_reasoning",
        default=False,
        title="Show thinking",
        help="Shows the thinking of the model above its reply. For one chat only, use "
        "/reasoning show.",
    )
    agent_timeout_s: float = _setting(
        "agent.gateway_timeout",
        1800.0,
        title="Stop an unresponsive turn after (seconds)",
        help="Stops a turn after this long without any activity; 0: never.",
        minimum=0,
        maximum=_A_DAY,
        variables=("HERMES_AGENT_TIMEOUT",),
    )
    agent_timeout_warning_s: float = _setting(
        "agent.gateway_timeout_warning",
        900.0,
        title="Warn after (seconds)",
        help="When to tell the chat that a turn shows no activity; 0: never.",
        minimum=0,
        maximum=_A_DAY,
        variables=("HERMES_AGENT_TIMEOUT_WARNING",),
    )
    notify_interval_s: float = _setting(
        "agent.gateway_notify_interval",
        180.0,
        title="Report long turns every (seconds)",
        help="How often to tell the chat that the assistant still works; 0: never.",
        minimum=0,
        maximum=_A_DAY,
        variables=("HERMES_AGENT_NOTIFY_INTERVAL",),
    )
    resume_fresh_s: float = _setting(
        "agent.gateway_auto_continue_freshness",
        3600.0,
        title="Resume interrupted replies for (seconds)",
        help="How long after a restart an interrupted reply is resumed; 0: always.",
        minimum=0,
        maximum=_A_DAY,
        variables=("HERMES_AUTO_CONTINUE_FRESHNESS",),
    )
    busy_ack_enabled: bool = _setting(
        "display.busy_ack_enabled",
        default=True,
        title="Acknowledge waiting messages",
        help="Sends a short notice for a message that arrives during a reply.",
        variables=("HERMES_GATEWAY_BUSY_ACK_ENABLED",),
    )
    confirm_destructive_commands: bool = _setting(
        "approvals.destructive_slash_confirm",
        default=True,
        title="Confirm destructive commands",
        help="Commands that remove something, such as /undo, ask first.",
    )
    delivery_ledger: bool = _setting(
        "gateway.delivery_ledger",
        default=True,
        title="Store replies before sending",
        help="Delivers a reply later if a crash or a broken connection prevented it.",
        effect=Effect.RESTART,
        consequence="When off, such a reply is lost.",
    )
    platform_connect_timeout_s: float = _setting(
        "gateway.platform_connect_timeout",
        30.0,
        title="Connection time-out (seconds)",
        help="How long connecting to a platform can take.",
        section="Platforms",
        minimum=1,
        maximum=600,
        variables=("HERMES_GATEWAY_PLATFORM_CONNECT_TIMEOUT",),
    )


def read_running_settings(data: Mapping[str, Any], lookup: Lookup) -> RunningSettings:
    """Read the settings from config.yaml and, where a key is missing, from variables.

    A number that is greater than the window accepts is used nevertheless.

    Args:
        data: config.yaml as read.
        lookup: Returns the values of variables.
    """
    found: dict[str, Any] = {}
    for field, option in settings_of(RunningSettings).items():
        section, key = option.key.split(".")
        value = as_mapping(data.get(section)).get(key)
        for variable in option.variables if value is None else ():
            value = lookup(variable)
        found[field] = _read(value, option)
    return RunningSettings(**found)


def _read(value: object, option: Option) -> Any:
    """Return a value as its setting needs it; the default for an invalid one."""
    default: Any = option.default
    if option.kind == "yes_no":
        return as_bool(value, default=default)
    if option.kind == "whole_number":
        return as_whole_number(value, default=default, low=int(option.minimum))
    if option.kind == "number":
        return as_number(value, default=default)
    word = str(value).strip().lower()
    return word if word in (option.choices or {}) else default
