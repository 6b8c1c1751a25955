"""The settings for tools, approvals and auxiliary tasks for the user."""

from collections.abc import Iterator

from hermes_desktop.settings.options import Effect, Option, Place

# As in the tools that wait; loading those is slow, and the command line needs only the numbers.
APPROVAL_S, QUESTION_S, COMMAND_S = 60.0, 600.0, 180.0

_ASKING = "Asking before something is done"
_TOOLS = "Tools"
_SIDE_WORK = "Small work beside answering"

_MODES = {
    "smart": "you are asked; in `hermes`, a model decides first",
    "manual": "you are asked",
    "off": "never ask",
}
_SETS = "file, terminal, web, memory, session_search, todo, clarify"
_CHATS = {
    "telegram": "Telegram",
    "discord": "Discord",
    "slack": "Slack",
    "whatsapp": "WhatsApp",
    "signal": "Signal",
    "mattermost": "Mattermost",
    "matrix": "Matrix",
    "email": "E-mail",
}
_TASKS = {"compression": "Summaries", "title_generation": "Names of sessions"}


def _toolsets(platform: str, title: str) -> Option:
    return Option(
        key=f"platform_toolsets.{platform}",
        label=f"{title}: tools",
        help=f"The tools that the assistant can use in its chats: {_SETS}. "
        "Names that only `hermes` knows have no effect here. Default: web, todo and clarify.",
        section=_TOOLS,
        kind="texts",
        default=None,
        may_be_none=True,
        effect=Effect.LIVE,
        platform=platform,
        consequence="With file or terminal, anyone who can write there can have the "
        "assistant read and change files on this computer and run commands. You "
        "are asked first, as set above.",
    )


def _side_work() -> Iterator[Option]:
    for task, who in _TASKS.items():
        for name, label, kind, text in (
            ("provider", "provider", "text", "Who does it; auto: whoever answers."),
            ("model", "model", "text", "Which model does it; none: the one that answers."),
            ("base_url", "address", "address", "Where it is asked, if not where usual."),
        ):
            yield Option(
                key=f"auxiliary.{task}.{name}",
                label=f"{who}: {label}",
                help=text,
                section=_SIDE_WORK,
                kind="address" if kind == "address" else "text",
                default=None,
                may_be_none=True,
                effect=Effect.LIVE,
                consequence="Your messages are sent to this provider."
                if name == "base_url"
                else "",
            )


TOOL_OPTIONS: tuple[Option, ...] = (
    Option(
        key="approvals.mode",
        label="Ask before risky actions",
        help="The assistant asks before it deletes, overwrites, installs or sends something, "
        "or does anything else that cannot be undone.",
        section=_ASKING,
        kind="choice",
        default="smart",
        choices=_MODES,
        effect=Effect.LIVE,
        consequence="With off, everything the model decides is done immediately, in every "
        "chat: files are deleted and commands run without asking. Only commands "
        "that you never allow, and those that would destroy the system, stay "
        "forbidden.",
    ),
    Option(
        key="approvals.timeout",
        label="Approval time-out (seconds)",
        help="How long an approval request waits. Without an answer, the action is denied.",
        section=_ASKING,
        kind="number",
        default=APPROVAL_S,
        low=1,
        high=3600,
        effect=Effect.LIVE,
    ),
    Option(
        key="approvals.deny",
        label="Never allowed",
        help="Commands that are never run. Wildcards: * and ?.",
        section=_ASKING,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
    ),
    Option(
        key="command_allowlist",
        label="Always allowed",
        help="Commands that run without asking. They must match exactly here.",
        section=_ASKING,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
        consequence="`hermes` reads an entry as a pattern, which may allow more.",
    ),
    Option(
        key="agent.clarify_timeout",
        label="Question time-out (seconds)",
        help="How long a question from the assistant waits for your answer. If this is not "
        "set, `hermes` waits an hour.",
        section=_ASKING,
        kind="number",
        default=QUESTION_S,
        low=1,
        high=86_400,
        effect=Effect.LIVE,
    ),
    Option(
        key="terminal.timeout",
        label="Command time-out (seconds)",
        help="How long a command of the assistant can run before it is stopped.",
        section=_TOOLS,
        kind="number",
        default=COMMAND_S,
        low=1,
        high=600,
        effect=Effect.LIVE,
    ),
    Option(
        key="agent.disabled_toolsets",
        label="Disabled tools",
        help=f"Tools that the assistant can never use: names of tools, or of {_SETS}.",
        section=_TOOLS,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
        places=(Place(("agent", "disabled_toolsets")),),
    ),
    *(_toolsets(platform, title) for platform, title in _CHATS.items()),
    *_side_work(),
)
