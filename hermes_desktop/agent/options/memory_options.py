"""The memory settings for the user."""

from hermes_desktop.settings.options import Effect, Option

WRITE_APPROVAL = "memory.write_approval"

MEMORY_OPTIONS: tuple[Option, ...] = (
    Option(
        key=WRITE_APPROVAL,
        label="Ask before something is remembered",
        help="What the assistant wants to remember waits for your word; /memory pending shows it.",
        section="Memory",
        kind="yes_no",
        default=False,
        effect=Effect.LIVE,
        consequence="It counts for what the assistant wants to remember from then on.",
    ),
)
