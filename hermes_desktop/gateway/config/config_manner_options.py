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
        consequence="Chats there go on in other sessions than before; those stay.",
    )


MANNER_OPTIONS: tuple[Option, ...] = (
    _seconds(
        "agent.gateway_timeout",
        "End a silent turn after (seconds)",
        "A turn in which nothing happens for so long is ended; 0: never.",
        _RUNNING.agent_timeout_s,
        "HERMES_AGENT_TIMEOUT",
    ),
    _seconds(
        "agent.gateway_timeout_warning",
        "Say so after (seconds)",
        "When the chat is told that a turn is silent; 0: never.",
        _RUNNING.agent_timeout_warning_s,
        "HERMES_AGENT_TIMEOUT_WARNING",
    ),
    _seconds(
        "agent.gateway_notify_interval",
        "Tell of a long turn every (seconds)",
        "How often the chat hears that it is still being worked on; 0: never.",
        _RUNNING.notify_interval_s,
        "HERMES_AGENT_NOTIFY_INTERVAL",
    ),
    _seconds(
        "agent.gateway_auto_continue_freshness",
        "Take up cut-off replies for (seconds)",
        "For how long a reply that a restart cut off is gone on with; 0: always.",
        _RUNNING.resume_fresh_s,
        "HERMES_AUTO_CONTINUE_FRESHNESS",
    ),
    Option(
        key="display.busy_ack_enabled",
        label="Acknowledge a message that waits",
        help="A message that comes while a reply is being written gets a short notice.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.busy_ack_enabled,
        effect=Effect.LIVE,
        variables=("HERMES_GATEWAY_BUSY_ACK_ENABLED",),
    ),
    Option(
        key="approvals.destructive_slash_confirm",
        label="Ask before /undo and the like",
        help="A command that takes something out of a session asks first.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.confirm_destructive_commands,
        effect=Effect.LIVE,
    ),
    Option(
        key="gateway.delivery_ledger",
        label="Note replies before they are sent",
        help="So that a reply that a crash or a broken connection kept back arrives later.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.delivery_ledger,
        effect=Effect.RESTART,
        consequence="Without it such a reply is lost.",
    ),
    Option(
        key="reset_triggers",
        label="Words that begin anew",
        help="Messages that begin a new session, as /new does.",
        section="New sessions of chats",
        kind="texts",
        default=list(_CONFIG.reset_triggers),
        effect=Effect.LIVE,
        places=(Place(("reset_triggers",)), Place(("gateway", "reset_triggers"))),
    ),
    Option(
        key="gateway.platform_connect_timeout",
        label="Time for connecting (seconds)",
        help="How long connecting a platform may take.",
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
        "Groups: everybody has a session of their own",
        "Else all people of a group share one.",
        default=_CONFIG.group_sessions_per_user,
    ),
    _who_shares(
        "thread_sessions_per_user",
        "Threads: everybody has a session of their own",
        "Else all people of a thread share one.",
        default=_CONFIG.thread_sessions_per_user,
    ),
)
