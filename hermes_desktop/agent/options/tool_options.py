"""The settings for tools, approvals and auxiliary tasks for the user."""

from collections.abc import Iterator

from hermes_desktop.settings.options import Option, Place

# As in the tools that wait; loading those is slow, and the command line needs only the numbers.
APPROVAL_S, QUESTION_S, COMMAND_S = 60.0, 600.0, 180.0

_ASKING = "Approvals and questions"
_TOOLS = "Tools"
_SIDE_WORK = "Auxiliary tasks"

_MODES = {
    "smart": "ask; `hermes` lets a model decide first",
    "manual": "ask",
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
_TASKS = {"compression": "Summaries", "title_generation": "Session titles"}


def _toolsets(platform: str, title: str) -> Option:
    return Option(
        key=f"platform_toolsets.{platform}",
        title=f"{title}: tools",
        help=f"The tools that the assistant can use in its chats. Choose from {_SETS}. "
        "Names that only `hermes` knows have no effect here. Default: web, todo and clarify.",
        section=_TOOLS,
        kind="texts",
        default=None,
        may_be_none=True,
        platform=platform,
        consequence="With file or terminal, anyone who can write there can have the "
        "assistant read and change files on this computer and run commands. You "
        "are asked first, as set above.",
    )


def _sandbox_grants() -> Iterator[Option]:
    for name, title, text, consequence in (
        (
            "allowed_hosts",
            "Hosts that commands can reach",
            (
                "Names such as example.org. A leading *. includes subdomains. A single * is "
                "every public host. Without bubblewrap, a single name opens the whole network."
            ),
            "A host that commands can reach can receive your files.",
        ),
        (
            "readable_paths",
            "Files and folders that commands can read",
            (
                "Besides the working folder. Keys, your home as a whole and the files of Hermes "
                "are never readable."
            ),
            "",
        ),
        (
            "writable_paths",
            "Files and folders that commands can change",
            (
                "Besides the working folder. Keys, your home as a whole and the files of Hermes "
                "never change."
            ),
            "Commands change and delete there without asking.",
        ),
    ):
        yield Option(
            key=f"terminal.{name}",
            title=title,
            help=text,
            section=_TOOLS,
            kind="texts",
            default=[],
            consequence=consequence,
            unknown_to_hermes="`hermes` has no sandbox of this kind.",
        )


def _side_work() -> Iterator[Option]:
    for task, who in _TASKS.items():
        for name, label, kind, text in (
            (
                "provider",
                "provider",
                "text",
                "The provider for this task; auto: the provider that answers.",
            ),
            ("model", "model", "text", "The model for this task; empty: the model that answers."),
            (
                "base_url",
                "address",
                "address",
                "The server address for this task, if it is not the usual one.",
            ),
        ):
            yield Option(
                key=f"auxiliary.{task}.{name}",
                title=f"{who}: {label}",
                help=text,
                section=_SIDE_WORK,
                kind="address" if kind == "address" else "text",
                default=None,
                may_be_none=True,
                consequence="Your messages are sent to this provider."
                if name == "base_url"
                else "",
            )


TOOL_OPTIONS: tuple[Option, ...] = (
    Option(
        key="approvals.mode",
        title="Ask before risky actions",
        help="The assistant asks before an action that cannot be undone. Examples are deleting, "
        "overwriting, installing and sending something. Commands in a closed sandbox need no "
        "question.",
        section=_ASKING,
        kind="choice",
        default="smart",
        choices=_MODES,
        consequence="With off, the assistant acts immediately in every chat: it deletes files "
        "and runs commands without asking. Only commands that you never allow, "
        "and those that would destroy the system, stay forbidden.",
    ),
    Option(
        key="approvals.sandboxed_commands",
        title="Run commands in a sandbox",
        help="Commands change only the working folder and have no network. If one needs more, the "
        "assistant asks for it. Where this computer has no closed sandbox, every command asks "
        "first.",
        section=_ASKING,
        kind="choice",
        default="auto",
        choices={
            "off": "no sandbox; ask about risky ones",
            "risky": "sandbox; ask about risky ones",
            "auto": "sandbox; run without asking",
        },
        unknown_to_hermes="`hermes` has no sandbox of this kind and asks as set above.",
        consequence="With off, nothing holds a command: only its text is judged, which can "
        "deceive.",
    ),
    Option(
        key="approvals.partly_sandboxed_commands",
        title="Commands in a partial sandbox",
        help="What applies where only a weaker sandbox works. Without bubblewrap, a sandbox "
        "protects only the contents of files and the network.",
        section=_ASKING,
        kind="choice",
        default="ask",
        choices={"ask": "ask about every command", "risky": "ask about risky ones"},
        unknown_to_hermes="`hermes` has no sandbox of this kind and asks as set above.",
        consequence="With risky, a command can change permissions and times of files anywhere, "
        "see which programs run, and leave some of them running, without asking.",
    ),
    Option(
        key="approvals.timeout",
        title="Approval time-out (seconds)",
        help="How long an approval request waits. Without an answer, the action is denied.",
        section=_ASKING,
        kind="number",
        default=APPROVAL_S,
        minimum=1,
        maximum=3600,
    ),
    Option(
        key="approvals.deny",
        title="Never allowed",
        help="Commands that are never run. Wildcards: * and ?.",
        section=_ASKING,
        kind="texts",
        default=[],
    ),
    Option(
        key="command_allowlist",
        title="Always allowed",
        help="Commands that run without asking. They must match exactly here.",
        section=_ASKING,
        kind="texts",
        default=[],
        consequence="`hermes` reads an entry as a pattern, which may allow more.",
    ),
    Option(
        key="agent.clarify_timeout",
        title="Question time-out (seconds)",
        help="How long a question from the assistant waits for your answer. If this is not "
        "set, `hermes` waits an hour.",
        section=_ASKING,
        kind="number",
        default=QUESTION_S,
        minimum=1,
        maximum=86_400,
    ),
    Option(
        key="terminal.cwd",
        title="Working folder",
        help="Where new sessions and chats work. Without it, that is Hermes in your documents "
        "folder, or in the window the folder that you picked last for a new session. Your home "
        "folder cannot be used.",
        section=_TOOLS,
        kind="text",
        default=None,
        may_be_none=True,
        consequence="Everyone who may use these tools in a chat works with the files in this "
        "folder.",
    ),
    Option(
        key="terminal.timeout",
        title="Command time-out (seconds)",
        help="How long a command of the assistant can run before it is stopped.",
        section=_TOOLS,
        kind="number",
        default=COMMAND_S,
        minimum=1,
        maximum=600,
    ),
    *_sandbox_grants(),
    Option(
        key="agent.disabled_toolsets",
        title="Disabled tools",
        help=f"Tools that the assistant can never use. Enter names of tools, or of {_SETS}.",
        section=_TOOLS,
        kind="texts",
        default=[],
        places=(Place(("agent", "disabled_toolsets")),),
    ),
    *(_toolsets(platform, title) for platform, title in _CHATS.items()),
    *_side_work(),
)
