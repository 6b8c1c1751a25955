"""The context settings for the user."""

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.session_titles import TitleSettings
from hermes_desktop.settings.options import Effect, Option

_SECTION = "Long sessions"
_DEFAULTS = CompressionSettings()

COMPRESSION_OPTIONS: tuple[Option, ...] = (
    Option(
        key="model.context_length",
        label="Size of the context",
        help="How many tokens the model can be told at once, where neither its server nor its "
        "name says so.",
        section=_SECTION,
        kind="whole_number",
        default=None,
        low=1_024,
        may_be_none=True,
        effect=Effect.LIVE,
    ),
    Option(
        key="compression.enabled",
        label="Shorten long sessions",
        help="A summary takes the place of what was said long ago, before the model can no "
        "longer be told all of it. What was said can still be read.",
        section=_SECTION,
        kind="yes_no",
        default=_DEFAULTS.enabled,
        effect=Effect.LIVE,
    ),
    Option(
        key="compression.threshold",
        label="At which part of the context",
        help="From which part of the context on; in contexts below 512,000 tokens never before "
        "three quarters.",
        section=_SECTION,
        kind="number",
        default=_DEFAULTS.threshold,
        low=0.05,
        high=0.95,
        effect=Effect.LIVE,
    ),
    Option(
        key="compression.in_place",
        label="Keep the session",
        help="The session stays one; else it goes on in a new one with the next "
        "number behind its name.",
        section=_SECTION,
        kind="yes_no",
        default=_DEFAULTS.in_place,
        effect=Effect.LIVE,
    ),
    Option(
        key="auxiliary.title_generation.enabled",
        label="Name new sessions",
        help="The model gives a new session a name after its first reply.",
        section=_SECTION,
        kind="yes_no",
        default=TitleSettings().enabled,
        effect=Effect.LIVE,
    ),
)
