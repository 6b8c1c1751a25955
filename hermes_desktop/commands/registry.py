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
        while_busy: Whether it runs at once even while a reply is being written.
        destructive: Whether it removes something from the session; a confirmation may be asked
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


_NEW_CHAT = "In this window every session stands by itself: choose New chat."
_LIST = "In this window you find your sessions in the list on the left."
_GATEWAY_PAGE = "In this window the gateway and its platforms have a page of their own."

COMMANDS: tuple[CommandDef, ...] = (
    CommandDef(
        "new",
        "begin a new session",
        aliases=("reset",),
        args_hint="[title]",
        while_busy=True,
        destructive=True,
        instead_in_window=_NEW_CHAT,
    ),
    CommandDef(
        "stop",
        "end the reply that is being written, or what runs beside it",
        args_hint="[background | all]",
        while_busy=True,
    ),
    CommandDef("retry", "take the last reply back and ask again"),
    CommandDef(
        "undo",
        "take back the last messages and, in chats, what they changed in files",
        args_hint="[how many | restore]",
        destructive=True,
        unasked=frozenset({"restore"}),
    ),
    CommandDef("title", "show or change the session's name", args_hint="[name]", while_busy=True),
    CommandDef(
        "resume",
        "list earlier sessions, or go on with one",
        args_hint="[name, id or number] [--all]",
        instead_in_window=_LIST,
    ),
    CommandDef("sessions", "list your latest sessions", while_busy=True),
    CommandDef("branch", "go on in a copy", aliases=("fork",), args_hint="[name]"),
    CommandDef(
        "compress",
        "make the session shorter: a summary in place of what was said long ago",
        aliases=("compact",),
        args_hint="[what to keep above all | here how many] [--preview]",
    ),
    CommandDef("status", "what is going on here", while_busy=True),
    CommandDef(
        "queue",
        "ask this after the reply that is being written",
        aliases=("q",),
        args_hint="<message>",
        while_busy=True,
    ),
    CommandDef(
        "steer",
        "tell what runs something, without ending it",
        args_hint="<message>",
        while_busy=True,
    ),
    CommandDef(
        "background",
        "have something done beside this session, and told here when it is",
        aliases=("bg", "btw"),
        args_hint="<request>",
        while_busy=True,
    ),
    CommandDef(
        "agents",
        "see what runs and waits, and end it",
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
        "have the model answer faster, for more money",
        "Model",
        args_hint="[normal | fast | status]",
        while_busy=True,
    ),
    CommandDef("usage", "tokens and costs of this session", "Model", while_busy=True),
    CommandDef(
        "insights",
        "tokens, costs and tools of the last days, of all sessions",
        "Model",
        args_hint="[days]",
        while_busy=True,
    ),
    CommandDef(
        "approve",
        "allow what waits for your word",
        args_hint="[session | always | all]",
        while_busy=True,
    ),
    CommandDef("deny", "refuse what waits for your word", args_hint="[all]", while_busy=True),
    CommandDef("yolo", "ask nothing in this session, or ask again", while_busy=True),
    CommandDef(
        "memory",
        "see, approve and forget what the assistant remembers",
        args_hint="[show | pending | approve <id> | reject <id> | approval on|off | forget <id>]",
        while_busy=True,
    ),
    CommandDef(
        "restart",
        "start the gateway anew",
        "Gateway",
        while_busy=True,
        instead_in_window=_GATEWAY_PAGE,
    ),
    CommandDef(
        "platform",
        "see, pause or resume a platform",
        "Gateway",
        args_hint="list | pause <name> | resume <name>",
        while_busy=True,
        instead_in_window=_GATEWAY_PAGE,
    ),
    CommandDef(
        "sethome",
        "send unasked news to this chat",
        "Gateway",
        aliases=("set-home",),
        while_busy=True,
        instead_in_window="Say it in the chat of a messaging platform that news are to go to.",
    ),
    CommandDef("help", "show this list", "About", while_busy=True),
    CommandDef(
        "commands", "all commands, page by page", "About", args_hint="[page]", while_busy=True
    ),
    CommandDef("whoami", "who you are here, and what you may do", "About", while_busy=True),
    CommandDef("profile", "which profile answers", "About", while_busy=True),
    CommandDef("version", "which version answers", "About", aliases=("v",), while_busy=True),
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
