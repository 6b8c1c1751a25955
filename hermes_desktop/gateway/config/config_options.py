"""User-visible options of the gateway, declared beside the dataclasses that hold their values."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hermes_desktop.gateway.config.config_environment import TOKEN_VARIABLES
from hermes_desktop.gateway.config.config_manner_options import MANNER_OPTIONS
from hermes_desktop.gateway.config.config_platforms import Platform, title_of
from hermes_desktop.gateway.config.config_policies import SessionResetPolicy, StreamingConfig
from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.gateway.config.config_telegram_options import TELEGRAM_OPTIONS
from hermes_desktop.gateway.config.gateway_config import DEFAULT_MAX_AGE_DAYS
from hermes_desktop.gateway.config.user_lists import variable
from hermes_desktop.settings.options import Effect, Option, Place
from hermes_desktop.settings.secret_options import SecretOption

SESSION_TYPES = ("dm", "group", "channel", "thread")
_KINDS = {"dm": "Direct messages", "group": "Groups", "channel": "Channels", "thread": "Threads"}
_RESTING = "New sessions of chats"
_REPLYING = "Replies"
_PEOPLE = "Who can write"
_PLATFORMS = "Platforms"
_IGNORED = "`hermes` does not read it from config.yaml; in its gateway it has no effect."
_POLICY, _RUNNING, _STREAMING = SessionResetPolicy(), RunningSettings(), StreamingConfig()
_GROWING = "Only on platforms where a text that was sent can be changed."

_MODES = {
    "none": "never automatically",
    "idle": "after a period without messages",
    "daily": "once a day",
    "both": "whichever of the two comes first",
}
_NAMED = (
    Platform.TELEGRAM,
    Platform.DISCORD,
    Platform.SLACK,
    Platform.WHATSAPP,
    Platform.SIGNAL,
    Platform.MATTERMOST,
    Platform.MATRIX,
    Platform.EMAIL,
    Platform.API_SERVER,
    Platform.WEBHOOK,
)
_WITH_PEOPLE = tuple(p for p in _NAMED if p not in {Platform.API_SERVER, Platform.WEBHOOK})


def _policy(prefix: tuple[str, ...], owns: int, who: str, unknown: str = "") -> Iterator[Option]:
    """Yield the options of a reset policy: general, for a kind of chat or for a platform."""
    base = Option(
        key=".".join((*prefix, "mode")),
        label=f"{who}: new session",
        help="When a chat starts a new session automatically. The previous one is kept, and "
        "you can return to it.",
        section=_RESTING,
        kind="choice",
        default=_POLICY.mode,
        choices=_MODES,
        effect=Effect.LIVE,
        consequence="Chats that were inactive for longer start a new session with the next "
        "message.",
        unknown_to_hermes=unknown,
    )
    for option in (base, *_policy_numbers(base, prefix, unknown)):
        yield replace(option, places=_top_and_inner(tuple(option.key.split(".")), owns))


def _policy_numbers(base: Option, prefix: tuple[str, ...], unknown: str) -> tuple[Option, ...]:
    """Return the other options of a policy; ``base`` is its mode."""
    who = base.label.partition(":")[0]
    return (
        replace(
            base,
            key=".".join((*prefix, "idle_minutes")),
            label=f"{who}: inactive for (minutes)",
            help="How long a chat can be inactive, for the modes idle and both.",
            kind="whole_number",
            default=_POLICY.idle_minutes,
            choices=None,
            low=1,
            high=52_560_000,  # a hundred years
            variables=() if unknown else ("SESSION_IDLE_MINUTES",),
            variable_wins=True,
        ),
        replace(
            base,
            key=".".join((*prefix, "at_hour")),
            label=f"{who}: hour of day",
            help="The local hour, for the modes daily and both.",
            kind="whole_number",
            default=_POLICY.at_hour,
            choices=None,
            low=0,
            high=23,
            variables=() if unknown else ("SESSION_RESET_HOUR",),
            variable_wins=True,
        ),
        replace(
            base,
            key=".".join((*prefix, "notify")),
            label=f"{who}: notify the chat",
            help="Tells the chat that a new session starts, and how to return to the previous one.",
            kind="yes_no",
            default=_POLICY.notify,
            choices=None,
            consequence="",
        ),
    )


def _top_and_inner(path: tuple[str, ...], owns: int) -> tuple[Place, ...]:
    return Place(path, owns), Place(("gateway", *path), owns + 1 if owns else 0)


def _policies() -> Iterator[Option]:
    yield from _policy(("session_reset",), 1, "All chats")
    for kind in SESSION_TYPES:
        yield from _policy(("reset_by_type", kind), 1, _KINDS[kind], _IGNORED)
    for platform in _WITH_PEOPLE:
        name = platform.value
        yield from _policy(
            ("reset_by_platform", name), 1, f"Chats on {title_of(platform)}", _IGNORED
        )


def switch_places(platform: Platform) -> tuple[Place, ...]:
    """Return where config.yaml may switch a platform on or off; the first place found counts."""
    inner = ("platforms", platform.value, "enabled")
    top = Place((platform.value, "enabled"), only_found=True)
    return top, Place(inner), Place(("gateway", *inner))


_SWITCHES: Mapping[Platform, tuple[str, ...]] = {
    Platform.API_SERVER: ("API_SERVER_ENABLED",),
    Platform.WEBHOOK: ("WEBHOOK_ENABLED",),
}
_LOGINS: Mapping[Platform, tuple[tuple[str, ...], ...]] = {
    Platform.MATRIX: (
        ("MATRIX_ACCESS_TOKEN", "MATRIX_HOMESERVER"),
        ("MATRIX_PASSWORD", "MATRIX_HOMESERVER"),
    ),
    Platform.EMAIL: (("EMAIL_PASSWORD", "EMAIL_ADDRESS", "EMAIL_IMAP_HOST", "EMAIL_SMTP_HOST"),),
    Platform.API_SERVER: (("API_SERVER_KEY",),),
}


def _switch(platform: Platform) -> Option:
    """Return the switch of a platform, with the places where ``hermes`` reads it."""
    name = platform.value
    token = TOKEN_VARIABLES.get(platform)
    return Option(
        key=f"platforms.{name}.enabled",
        label=f"{title_of(platform)}: on",
        help=f"The gateway serves {title_of(platform)}.",
        section=_PLATFORMS,
        kind="yes_no",
        default=False,
        effect=Effect.RECONNECT,
        platform=name,
        places=switch_places(platform),
        variables=_SWITCHES.get(platform, ()),
        switched_on_by=_LOGINS.get(platform, ((token,),) if token else ()),
        consequence="A token in the environment, the keyring or .env turns it on, unless "
        "this is set to false.",
    )


def _people(platform: Platform) -> Iterator[Option]:
    """Yield the options for allowed users of a platform and for how strangers are treated."""
    name = platform.value
    inner = ("platforms", name)
    yield Option(
        key=f"{name}.allow_from",
        label=f"{title_of(platform)}: people",
        help="Ids of people who can write; * means everyone. People named in "
        f"{variable(name, 'ALLOWED_USERS')} or approved by pairing can write, too.",
        section=_PEOPLE,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
        platform=name,
        places=(
            Place((name, "allow_from"), owns=1),
            Place((*inner, "allow_from")),
            Place(("gateway", *inner, "allow_from")),
            Place((*inner, "extra", "allow_from")),
            Place(("gateway", *inner, "extra", "allow_from")),
        ),
        consequence="People removed from the list are refused from the next message on.",
    )
    yield Option(
        key=f"{name}.unauthorized_dm_behavior",
        label=f"{title_of(platform)}: strangers",
        help="How to respond to a direct message from a stranger on this platform.",
        section=_PEOPLE,
        kind="choice",
        default="ignore" if platform is Platform.EMAIL else None,
        may_be_none=platform is not Platform.EMAIL,
        choices=_STRANGERS,
        effect=Effect.LIVE,
        platform=name,
        places=(
            Place((name, "unauthorized_dm_behavior"), owns=1),
            Place((*inner, "unauthorized_dm_behavior")),
            Place(("gateway", *inner, "unauthorized_dm_behavior")),
        ),
    )


_STRANGERS = {"pair": "a code that you can approve", "ignore": "nothing"}


_RUNNING_OPTIONS: tuple[Option, ...] = (
    Option(
        key="agent.max_turns",
        label="Model calls per turn",
        help="A turn stops when it needs more.",
        section=_REPLYING,
        kind="whole_number",
        default=_RUNNING.max_iterations,
        low=1,
        high=1000,
        effect=Effect.LIVE,
        consequence="A low number interrupts long work; a high one lets a mistaken agent continue.",
    ),
    Option(
        key="agent.restart_drain_timeout",
        label="Time for running replies (seconds)",
        help="How long running replies have to finish when the gateway restarts.",
        section=_REPLYING,
        kind="number",
        default=_RUNNING.restart_drain_timeout_s,
        low=0,
        high=3600,
        effect=Effect.LIVE,
        variables=("HERMES_RESTART_DRAIN_TIMEOUT",),
        consequence="With 0, they are interrupted immediately and resumed after the restart. "
        "If this is not set, `hermes` uses 0.",
    ),
    Option(
        key="display.busy_input_mode",
        label="Messages during a reply",
        help="What happens to a message that arrives while a reply is being written.",
        section=_REPLYING,
        kind="choice",
        default=_RUNNING.busy_input_mode,
        choices={
            "interrupt": "it interrupts the reply and is answered instead",
            "queue": "it waits for its turn",
            "steer": "the agent receives it at its next step",
        },
        effect=Effect.LIVE,
        variables=("HERMES_GATEWAY_BUSY_INPUT_MODE",),
    ),
    Option(
        key="display.show_reasoning",
        label="Show thinking",
        help="Shows the thinking of the model above its reply. For one chat only, use "
        "/reasoning show.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.show_reasoning,
        effect=Effect.LIVE,
    ),
    Option(
        key="streaming.enabled",
        label="Stream replies",
        help="Shows a reply while it is being written.",
        section=_REPLYING,
        kind="yes_no",
        default=_STREAMING.enabled,
        effect=Effect.LIVE,
        places=_top_and_inner(("streaming", "enabled"), 1),
        consequence=_GROWING,
    ),
    Option(
        key="streaming.transport",
        label="Streaming method",
        help="Drafts, edits of one message, whichever the platform supports, or off.",
        section=_REPLYING,
        kind="choice",
        default=_STREAMING.transport,
        choices={
            "auto": "the best that the platform supports",
            "draft": "as a draft",
            "edit": "by editing one message",
            "off": "not at all",
        },
        effect=Effect.LIVE,
        places=_top_and_inner(("streaming", "transport"), 1),
        consequence=_GROWING,
    ),
    Option(
        key="streaming.edit_interval",
        label="Seconds between updates",
        help="The shortest time between two updates of a streamed reply.",
        section=_REPLYING,
        kind="number",
        default=_STREAMING.edit_interval,
        low=0.1,
        high=60,
        effect=Effect.LIVE,
        places=_top_and_inner(("streaming", "edit_interval"), 1),
        consequence="Platforms throttle frequent updates.",
    ),
)


_OTHER_OPTIONS: tuple[Option, ...] = (
    Option(
        key="session_store_max_age_days",
        label="Forget inactive chats after (days)",
        help="After this many days without messages, the gateway forgets which session a "
        "chat was in; 0: never. The sessions themselves are kept.",
        section=_RESTING,
        kind="whole_number",
        default=DEFAULT_MAX_AGE_DAYS,
        low=0,
        high=36_500,
        effect=Effect.LIVE,
        places=_top_and_inner(("session_store_max_age_days",), 0),
        consequence="A forgotten chat starts a new session with its next message.",
        unknown_to_hermes="`hermes` reads it from gateway.json only; its gateway uses 90 days.",
    ),
    Option(
        key="unauthorized_dm_behavior",
        label="Strangers",
        help="How to respond to a direct message from a stranger. E-mail from strangers is "
        "ignored unless this is set for email.",
        section=_PEOPLE,
        kind="choice",
        default="pair",
        choices=_STRANGERS,
        effect=Effect.LIVE,
        places=_top_and_inner(("unauthorized_dm_behavior",), 0),
    ),
    Option(
        key="max_concurrent_sessions",
        label="Concurrent sessions",
        help="How many sessions all Hermes programs of this home can have open at the same "
        "time; empty: any number.",
        section=_REPLYING,
        kind="whole_number",
        default=None,
        may_be_none=True,
        low=1,
        high=10_000,
        effect=Effect.LIVE,
        places=_top_and_inner(("max_concurrent_sessions",), 0),
    ),
)


GATEWAY_OPTIONS: tuple[Option, ...] = (
    *_RUNNING_OPTIONS,
    *_OTHER_OPTIONS,
    *MANNER_OPTIONS,
    *_policies(),
    *(_switch(platform) for platform in _NAMED),
    *(option for platform in _WITH_PEOPLE for option in _people(platform)),
    *TELEGRAM_OPTIONS,
)

_TOKEN_NAMES = {"matrix": "access token"}


def _token(platform: Platform, name: str) -> SecretOption:
    inner = ("platforms", platform.value, "token")
    what = _TOKEN_NAMES.get(platform.value, "bot token")
    return SecretOption(
        variable=name,
        label=f"{title_of(platform)}: {what}",
        section=_PLATFORMS,
        platform=platform.value,
        places=(Place(inner), Place(("gateway", *inner))),
        effect=Effect.RECONNECT,
    )


def _extra(platform: Platform, variable_name: str, name: str, label: str) -> SecretOption:
    inner = ("platforms", platform.value, "extra", name)
    return SecretOption(
        variable=variable_name,
        label=f"{title_of(platform)}: {label}",
        section=_PLATFORMS,
        platform=platform.value,
        places=(Place((platform.value, "extra", name)), Place(inner), Place(("gateway", *inner))),
        effect=Effect.RECONNECT,
    )


GATEWAY_SECRETS: tuple[SecretOption, ...] = (
    *(_token(platform, name) for platform, name in TOKEN_VARIABLES.items()),
    _extra(Platform.MATRIX, "MATRIX_PASSWORD", "password", "password"),
    _extra(Platform.EMAIL, "EMAIL_PASSWORD", "password", "password"),
    _extra(Platform.API_SERVER, "API_SERVER_KEY", "key", "key that callers show"),
    _extra(Platform.WEBHOOK, "WEBHOOK_SECRET", "secret", "secret of the senders"),
)
