"""The settings for tools, approvals and auxiliary tasks for the user."""

from collections.abc import Iterator

from hermes_desktop.settings.options import Effect, Option, Place

# As in the tools that wait; loading those is slow, and the command line needs only the numbers.
APPROVAL_S, QUESTION_S, COMMAND_S = 60.0, 600.0, 180.0

_ASKING = "Asking before something is done"
_TOOLS = "Tools"
_SIDE_WORK = "Small work beside answering"

_MODES = {
    "smart": "you are asked; `hermes` lets a model decide first",
    "manual": "you are asked",
    "off": "nobody is asked",
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
        help=f"What the assistant may use in its chats: {_SETS}. Names that only `hermes` knows "
        "mean nothing here. None: web, todo and clarify.",
        section=_TOOLS,
        kind="texts",
        default=None,
        may_be_none=True,
        effect=Effect.LIVE,
        platform=platform,
        consequence="With file or terminal, everybody who may write there can have files of this "
        "computer read and changed, and commands run; you are asked as set above.",
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
                consequence="What was said in a session is sent there."
                if name == "base_url"
                else "",
            )


TOOL_OPTIONS: tuple[Option, ...] = (
    Option(
        key="approvals.mode",
        label="Ask before something that may do harm",
        help="A person is asked before the assistant deletes, overwrites, installs, sends or does "
        "anything else that cannot be taken back.",
        section=_ASKING,
        kind="choice",
        default="smart",
        choices=_MODES,
        effect=Effect.LIVE,
        consequence="With off, whatever the model decides is done at once, in every chat: files "
        "are deleted and commands run without a question. Only what you never allow, and what "
        "would destroy the system, stays forbidden.",
    ),
    Option(
        key="approvals.timeout",
        label="Wait for an answer (seconds)",
        help="How long such a question waits; without an answer it is not done.",
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
        help="Commands that are never run, whoever asks; * and ? stand for anything.",
        section=_ASKING,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
    ),
    Option(
        key="command_allowlist",
        label="Always allowed",
        help="Commands that are run without a question. Here they count to the letter.",
        section=_ASKING,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
        consequence="`hermes` takes an entry for a pattern, and may allow more by it.",
    ),
    Option(
        key="agent.clarify_timeout",
        label="Wait for what the assistant asks (seconds)",
        help="How long a question of the assistant waits for your answer. `hermes` waits an hour "
        "where nothing is set.",
        section=_ASKING,
        kind="number",
        default=QUESTION_S,
        low=1,
        high=86_400,
        effect=Effect.LIVE,
    ),
    Option(
        key="terminal.timeout",
        label="Time for a command (seconds)",
        help="How long a command of the assistant may run before it is ended.",
        section=_TOOLS,
        kind="number",
        default=COMMAND_S,
        low=1,
        high=600,
        effect=Effect.LIVE,
    ),
    Option(
        key="agent.disabled_toolsets",
        label="Tools switched off",
        help=f"What the assistant may use nowhere: names of tools, or of {_SETS}.",
        section=_TOOLS,
        kind="texts",
        default=[],
        effect=Effect.LIVE,
        places=(Place(("agent", "disabled_toolsets")),),
    ),
    *(_toolsets(platform, title) for platform, title in _CHATS.items()),
    *_side_work(),
)
