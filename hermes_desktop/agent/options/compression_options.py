"""The context settings for the user."""

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.session_titles import TitleSettings
from hermes_desktop.settings.options import Effect, Option

_SECTION = "Long sessions"
_DEFAULTS = CompressionSettings()

COMPRESSION_OPTIONS: tuple[Option, ...] = (
    Option(
        key="model.context_length",
        label="Context window",
        help="The context window of the model in tokens. Needed only if neither the server "
        "nor the model name tells.",
        section=_SECTION,
        kind="whole_number",
        default=None,
        low=1_024,
        may_be_none=True,
        effect=Effect.LIVE,
    ),
    Option(
        key="compression.enabled",
        label="Compact long sessions",
        help="Replaces the oldest messages with a summary before the session outgrows the "
        "context window. You can still read the original messages.",
        section=_SECTION,
        kind="yes_no",
        default=_DEFAULTS.enabled,
        effect=Effect.LIVE,
    ),
    Option(
        key="compression.threshold",
        label="Compact at this share of the context",
        help="The share of the context window at which a session is compacted. In windows "
        "below 512,000 tokens, never before three quarters.",
        section=_SECTION,
        kind="number",
        default=_DEFAULTS.threshold,
        low=0.05,
        high=0.95,
        effect=Effect.LIVE,
    ),
    Option(
        key="compression.in_place",
        label="Stay in the same session",
        help="Compacts within the session. Otherwise a new session continues it, with the "
        "next number after its name.",
        section=_SECTION,
        kind="yes_no",
        default=_DEFAULTS.in_place,
        effect=Effect.LIVE,
    ),
    Option(
        key="auxiliary.title_generation.enabled",
        label="Name new sessions",
        help="The model names a new session after the first reply.",
        section=_SECTION,
        kind="yes_no",
        default=TitleSettings().enabled,
        effect=Effect.LIVE,
    ),
)
