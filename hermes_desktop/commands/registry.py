"""The registry of commands. Help texts are generated from it alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Category = Literal["Session", "Model", "Gateway", "About", "Added"]


@dataclass(frozen=True, slots=True)
class CommandDef:
    """One command.

    Attributes:
        name: Canonical name, without a slash.
        description: What it does, for a line of help; no full stop.
        aliases: Other names.
        args_hint: The arguments that may follow, "" for none.
        available: False for a command of the ``hermes`` program that this one does not have yet.
        while_busy: Whether it runs immediately even while a reply is being written.
        destructive: Whether it removes something from the session; a confirmation may be requested
            first.
        unasked: Arguments with which it removes nothing.
        instead_in_window: What to do in this program's own chat, where it does not apply; "" if it
            does.
    """

    name: str
    description: str
    category: Category = "Session"
    aliases: tuple[str, ...] = ()
    args_hint: str = ""
    available: bool = True
    while_busy: bool = False
    destructive: bool = False
    unasked: frozenset[str] = frozenset()
    instead_in_window: str = ""

    def usage(self, prefix: str = "/") -> str:
        """Return the command as it is typed."""
        return f"{prefix}{self.name} {self.args_hint}".rstrip()

    def help_line(self, prefix: str = "/") -> str:
        """Return one line of help, an item of a Markdown list."""
        also = ", ".join(f"`{prefix}{alias}`" for alias in self.aliases)
        return f"- `{self.usage(prefix)}` — {self.description}" + (
            f" (also {also})" if also else ""
        )


def _later(*names: str) -> Iterable[CommandDef]:
    for name, *aliases in (each.split() for each in names):
        yield CommandDef(name, "", aliases=tuple(aliases), available=False, while_busy=True)


_NEW_CHAT = "In this window, every session is separate: choose New chat."
_LIST = "In this window, your sessions are in the list on the left."
_GATEWAY_PAGE = "In this window, the gateway and its platforms have their own page."

COMMANDS: tuple[CommandDef, ...] = (
    CommandDef(
        "new",
        "start a new session",
        aliases=("reset",),
        args_hint="[title]",
        while_busy=True,
        destructive=True,
        instead_in_window=_NEW_CHAT,
    ),
    CommandDef(
        "stop",
        "stop the running reply or background work",
        args_hint="[background | all]",
        while_busy=True,
    ),
    CommandDef("retry", "discard the last reply and ask again"),
    CommandDef(
        "undo",
        "undo the last messages and, in chats, their file changes",
        args_hint="[number | restore]",
        destructive=True,
        unasked=frozenset({"restore"}),
    ),
    CommandDef(
        "title", "show or change the title of the session", args_hint="[name]", while_busy=True
    ),
    CommandDef(
        "resume",
        "list earlier sessions, or continue one",
        args_hint="[title, id or number] [--all]",
        instead_in_window=_LIST,
    ),
    CommandDef("sessions", "list your latest sessions", while_busy=True),
    CommandDef("branch", "continue in a copy", aliases=("fork",), args_hint="[name]"),
    CommandDef(
        "compress",
        "replace older messages by a summary",
        aliases=("compact",),
        args_hint="[what to keep | here number] [--preview]",
    ),
    CommandDef("status", "show the status of the session", while_busy=True),
    CommandDef(
        "queue",
        "answer this after the running reply",
        aliases=("q",),
        args_hint="<message>",
        while_busy=True,
    ),
    CommandDef(
        "steer",
        "pass a message to the running reply",
        args_hint="<message>",
        while_busy=True,
    ),
    CommandDef(
        "background",
        "answer this in a separate session and report back here",
        aliases=("bg", "btw"),
        args_hint="<request>",
        while_busy=True,
    ),
    CommandDef(
        "agents",
        "show running and waiting work, and stop it",
        aliases=("tasks",),
        args_hint="[stop <id>]",
        while_busy=True,
    ),
    CommandDef(
        "model",
        "show or change the model of this session",
        "Model",
        args_hint="[name] [--provider name]",
    ),
    CommandDef(
        "reasoning",
        "show or change how much the model thinks",
        "Model",
        args_hint="[level | default | show | hide] [--global]",
        while_busy=True,
    ),
    CommandDef(
        "fast",
        "request faster answers at a higher price",
        "Model",
        args_hint="[normal | fast | status]",
        while_busy=True,
    ),
    CommandDef("usage", "show tokens and costs of this session", "Model", while_busy=True),
    CommandDef(
        "insights",
        "show tokens, costs and tools of the last days for all sessions",
        "Model",
        args_hint="[days]",
        while_busy=True,
    ),
    CommandDef(
        "approve",
        "approve the pending request",
        args_hint="[session | always | all]",
        while_busy=True,
    ),
    CommandDef("deny", "deny the pending request", args_hint="[all]", while_busy=True),
    CommandDef("yolo", "turn approvals off in this session, or on again", while_busy=True),
    CommandDef(
        "memory",
        "show, approve and forget memories",
        args_hint="[show | pending | approve <id> | reject <id> | approval on|off | forget <id>]",
        while_busy=True,
    ),
    CommandDef(
        "restart",
        "restart the gateway",
        "Gateway",
        while_busy=True,
        instead_in_window=_GATEWAY_PAGE,
    ),
    CommandDef(
        "platform",
        "list, pause or resume platforms",
        "Gateway",
        args_hint="list | pause <name> | resume <name>",
        while_busy=True,
        instead_in_window=_GATEWAY_PAGE,
    ),
    CommandDef(
        "sethome",
        "send messages that are not replies to this chat",
        "Gateway",
        aliases=("set-home",),
        while_busy=True,
        instead_in_window="Send it in the chat of the messaging platform that should receive "
        "these messages.",
    ),
    CommandDef("help", "show this list", "About", while_busy=True),
    CommandDef(
        "commands", "list all commands, page by page", "About", args_hint="[page]", while_busy=True
    ),
    CommandDef("whoami", "show who you are here and what you can do", "About", while_busy=True),
    CommandDef("profile", "show the active profile", "About", while_busy=True),
    CommandDef(
        "version", "show the version of Hermes Desktop", "About", aliases=("v",), while_busy=True
    ),
    *_later(
        "blueprint bp",
        "bundles",
        "codex-runtime codex_runtime",
        "curator",
        "debug",
        "footer",
        "goal",
        "kanban",
        "learn",
        "moa",
        "personality",
        "reload-mcp reload_mcp",
        "reload-skills reload_skills",
        "rollback",
        "skills",
        "subgoal",
        "suggestions suggest",
        "topic",
        "topup",
        "update",
        "verbose",
        "voice",
    ),
)

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def resolve_command(name: str) -> CommandDef | None:
    """Return the command of a name or alias, ignoring case, a leading slash and outer blanks."""
    return _BY_NAME.get(name.strip().lstrip("/").lower())


def available_commands() -> tuple[CommandDef, ...]:
    """Return the commands that this program has, in the order of the help."""
    return tuple(command for command in COMMANDS if command.available)
