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
    "none": "never by itself",
    "idle": "when the chat was silent for a while",
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
        label=f"{who}: a new session begins",
        help="When a chat begins a new session by itself. The old one is kept and can be "
        "gone back to.",
        section=_RESTING,
        kind="choice",
        default=_POLICY.mode,
        choices=_MODES,
        effect=Effect.LIVE,
        consequence="Chats that were silent for longer begin anew with their next message.",
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
            label=f"{who}: silent for (minutes)",
            help="How long a chat may be silent, for the modes idle and both.",
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
            label=f"{who}: hour of the day",
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
            label=f"{who}: tell the chat",
            help="The chat is told that a new session begins, and how to go back.",
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
        consequence="A token in the environment, the keyring or .env switches it on, unless it "
        "is set to false here.",
    )


def _people(platform: Platform) -> Iterator[Option]:
    """Yield the options for allowed users of a platform and for how strangers are treated."""
    name = platform.value
    inner = ("platforms", name)
    yield Option(
        key=f"{name}.allow_from",
        label=f"{title_of(platform)}: people",
        help="Ids of people who may write; * stands for everybody. Who is named in "
        f"{variable(name, 'ALLOWED_USERS')} or was let in by pairing may write, too.",
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
        consequence="Whoever is taken off the list is out with their next message.",
    )
    yield Option(
        key=f"{name}.unauthorized_dm_behavior",
        label=f"{title_of(platform)}: strangers",
        help="What a stranger's direct message gets, on this platform.",
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


_STRANGERS = {"pair": "a code with which you can let them in", "ignore": "nothing"}


_RUNNING_OPTIONS: tuple[Option, ...] = (
    Option(
        key="agent.max_turns",
        label="Calls of the model in one turn",
        help="A turn that needs more ends there.",
        section=_REPLYING,
        kind="whole_number",
        default=_RUNNING.max_iterations,
        low=1,
        high=1000,
        effect=Effect.LIVE,
        consequence="A small number cuts long work off; a great one lets a mistaken agent go on.",
    ),
    Option(
        key="agent.restart_drain_timeout",
        label="Let replies end (seconds)",
        help="How long running replies may take when the gateway is restarted.",
        section=_REPLYING,
        kind="number",
        default=_RUNNING.restart_drain_timeout_s,
        low=0,
        high=3600,
        effect=Effect.LIVE,
        variables=("HERMES_RESTART_DRAIN_TIMEOUT",),
        consequence="With 0 they are cut off at once and taken up again after the restart. "
        "`hermes` takes 0 where nothing is set.",
    ),
    Option(
        key="display.busy_input_mode",
        label="A message while a reply is being written",
        help="What a message does that comes while the reply to another is being written.",
        section=_REPLYING,
        kind="choice",
        default=_RUNNING.busy_input_mode,
        choices={
            "interrupt": "it stops the reply and is answered itself",
            "queue": "it waits",
            "steer": "it is given to the agent at its next step",
        },
        effect=Effect.LIVE,
        variables=("HERMES_GATEWAY_BUSY_INPUT_MODE",),
    ),
    Option(
        key="display.show_reasoning",
        label="Show what the model thinks",
        help="Chats see what a model thought above its reply. /reasoning show does it for one chat "
        "only.",
        section=_REPLYING,
        kind="yes_no",
        default=_RUNNING.show_reasoning,
        effect=Effect.LIVE,
    ),
    Option(
        key="streaming.enabled",
        label="Show replies while they grow",
        help="A chat sees a reply while it is being written, not only when it is whole.",
        section=_REPLYING,
        kind="yes_no",
        default=_STREAMING.enabled,
        effect=Effect.LIVE,
        places=_top_and_inner(("streaming", "enabled"), 1),
        consequence=_GROWING,
    ),
    Option(
        key="streaming.transport",
        label="How growing replies are shown",
        help="By drafts, by editing one message, whichever the platform has, or not at all.",
        section=_REPLYING,
        kind="choice",
        default=_STREAMING.transport,
        choices={
            "auto": "whichever the platform has",
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
        label="Between two changes (seconds)",
        help="How often a reply that grows is changed at most.",
        section=_REPLYING,
        kind="number",
        default=_STREAMING.edit_interval,
        low=0.1,
        high=60,
        effect=Effect.LIVE,
        places=_top_and_inner(("streaming", "edit_interval"), 1),
        consequence="Platforms slow down whoever changes texts too often.",
    ),
)


_OTHER_OPTIONS: tuple[Option, ...] = (
    Option(
        key="session_store_max_age_days",
        label="Forget silent chats after (days)",
        help="After so many silent days the gateway forgets which session a chat was in; 0: "
        "never. The sessions themselves stay.",
        section=_RESTING,
        kind="whole_number",
        default=DEFAULT_MAX_AGE_DAYS,
        low=0,
        high=36_500,
        effect=Effect.LIVE,
        places=_top_and_inner(("session_store_max_age_days",), 0),
        consequence="A chat that is forgotten begins a new session with its next message.",
        unknown_to_hermes="`hermes` reads it from gateway.json only; its gateway uses 90 days.",
    ),
    Option(
        key="unauthorized_dm_behavior",
        label="Strangers",
        help="What a stranger's direct message gets. Strangers' mail is ignored in any case "
        "unless set for email.",
        section=_PEOPLE,
        kind="choice",
        default="pair",
        choices=_STRANGERS,
        effect=Effect.LIVE,
        places=_top_and_inner(("unauthorized_dm_behavior",), 0),
    ),
    Option(
        key="max_concurrent_sessions",
        label="Sessions at once",
        help="How many all Hermes programs of this home may have open at once; none: any number.",
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
