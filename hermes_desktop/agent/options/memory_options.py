"""The memory settings for the user."""

from hermes_desktop.settings.options import Effect, Option

WRITE_APPROVAL = "memory.write_approval"

MEMORY_OPTIONS: tuple[Option, ...] = (
    Option(
        key=WRITE_APPROVAL,
        label="Ask before saving memories",
        help="New memories wait for your approval; /memory pending lists them.",
        section="Memory",
        kind="yes_no",
        default=False,
        effect=Effect.LIVE,
        consequence="Applies to new memories only.",
    ),
)
