"""User-visible gateway options, continued: time-outs, notifications and shared group sessions."""

from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.settings.options import Effect, Option, Place

_REPLYING = "Replies"
_GROUPS = "Groups"
_PLATFORMS = "Platforms"
_RUNNING, _CONFIG = RunningSettings(), GatewayConfig()
_A_DAY = 86_400


def _seconds(key: str, label: str, text: str, default: float, variable: str) -> Option:
    return Option(
        key=key,
        label=label,
        help=text,
        section=_REPLYING,
        kind="number",
        default=default,
        low=0,
        high=_A_DAY,
        effect=Effect.LIVE,
        variables=(variable,),
    )


def _who_shares(key: str, label: str, text: str, *, default: bool) -> Option:
    return Option(
        key=key,
        label=label,
        help=text,
        section=_GROUPS,
        kind="yes_no",
        default=default,
        effect=Effect.RESTART,
        places=(Place((key,)), Place(("gateway", key))),
        consequence="These chats continue in different sessions; the previous ones are kept.",
    )


MANNER_OPTIONS: tuple[Option, ...] = (
    _seconds(
        "agent.gateway_timeout",
        "Stop an unresponsive turn after (seconds)",
        "Stops a turn after this long without any activity; 0: never.",
        _RUNNING.agent_timeout_s,
        "HERMES_AGENT_TIMEOUT",
    ),
    _seconds(
        "agent.gateway_timeout_warning",
        "Warn after (seconds)",
        "When to tell the chat that a turn shows no activity; 0: never.",
        _RUNNING.agent_timeout_warning_s,
        "HERMES_AGENT_TIMEOUT_WARNING",
    ),
    _seconds(
        "agent.gateway_notify_interval",
        "Report long turns every (seconds)",
        "How often to tell the chat that the assistant is still working; 0: never.",
        _RUNNING.notify_interval_s,
        "HERMES_AGENT_NOTIFY_INTERVAL",
    ),
    _seconds(
        "agent.gateway_auto_continue_freshness",
        "Resume interrupted replies for (seconds)",
        "How long after a restart an interrupted reply is still resumed; 0: always.",
        _RUNNING.resume_fresh_s,
        "HERMES_AUTO_CONTINUE_FRESHNESS",
    ),
    Option(
        key="display.busy_ack_enabled",
        label="Acknowledge waiting messages",
        help="Sends a short notice for a message that arrives while a reply is being written.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.busy_ack_enabled,
        effect=Effect.LIVE,
        variables=("HERMES_GATEWAY_BUSY_ACK_ENABLED",),
    ),
    Option(
        key="approvals.destructive_slash_confirm",
        label="Confirm destructive commands",
        help="Commands that remove something from a session, such as /undo, ask first.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.confirm_destructive_commands,
        effect=Effect.LIVE,
    ),
    Option(
        key="gateway.delivery_ledger",
        label="Store replies before sending",
        help="Delivers a reply later if a crash or a broken connection prevented it.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.delivery_ledger,
        effect=Effect.RESTART,
        consequence="When off, such a reply is lost.",
    ),
    Option(
        key="reset_triggers",
        label="Reset commands",
        help="Messages that start a new session, like /new.",
        section="New sessions of chats",
        kind="texts",
        default=list(_CONFIG.reset_triggers),
        effect=Effect.LIVE,
        places=(Place(("reset_triggers",)), Place(("gateway", "reset_triggers"))),
    ),
    Option(
        key="gateway.platform_connect_timeout",
        label="Connection time-out (seconds)",
        help="How long connecting to a platform can take.",
        section=_PLATFORMS,
        kind="number",
        default=_RUNNING.platform_connect_timeout_s,
        low=1,
        high=600,
        effect=Effect.LIVE,
        variables=("HERMES_GATEWAY_PLATFORM_CONNECT_TIMEOUT",),
    ),
    _who_shares(
        "group_sessions_per_user",
        "Groups: one session per person",
        "Otherwise, everyone in a group shares one session.",
        default=_CONFIG.group_sessions_per_user,
    ),
    _who_shares(
        "thread_sessions_per_user",
        "Threads: one session per person",
        "Otherwise, everyone in a thread shares one session.",
        default=_CONFIG.thread_sessions_per_user,
    ),
)
