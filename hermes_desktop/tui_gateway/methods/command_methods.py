"""Methods for slash commands (catalog, execution) and for completion of commands and paths."""

import logging
import os
from pathlib import Path
from typing import Any

from hermes_desktop.commands import registry
from hermes_desktop.commands.context import CommandReply
from hermes_desktop.commands.conversation_commands import RESTORE
from hermes_desktop.commands.handlers import run_command
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.commands.words import ago, count, first_words
from hermes_desktop.core.errors import HermesError
from hermes_desktop.tui_gateway.methods import command_host
from hermes_desktop.tui_gateway.methods.command_host import context_of, usable_commands
from hermes_desktop.tui_gateway.methods.conversation_methods import take_back
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call
from hermes_desktop.tui_gateway.session_record import folder_of
from hermes_desktop.tui_gateway.turns import alone_everywhere, tell_info

_MOST_LISTED = 10
MOST_ITEMS = 50
_MOST_LOOKED_AT = 20_000
log = logging.getLogger(__name__)


def catalog(call: Call) -> dict[str, Any]:
    """Handle ``commands.catalog``."""
    categories: dict[str, list[list[str]]] = {}
    canonical: dict[str, str] = {}
    listed: list[tuple[CommandDef, str]] = [(each, each.category) for each in usable_commands()]
    listed += [
        (each.definition, command_host.category_of(each))
        for each in command_host.all_added(call.server).values()
    ]
    for command, category in listed:
        categories.setdefault(category, []).append([f"/{command.name}", _meta(command)])
        canonical |= {f"/{name}": f"/{command.name}" for name in (command.name, *command.aliases)}
    return {
        "pairs": [pair for pairs in categories.values() for pair in pairs],
        "canon": canonical,
        "categories": [{"name": name, "pairs": pairs} for name, pairs in categories.items()],
        "sub": {},
        "skill_count": 0,
        "warning": "",
    }


def _meta(command: CommandDef) -> str:
    usage = f" (usage: {command.usage()})" if command.args_hint else ""
    return command.description[:1].upper() + command.description[1:] + usage


def resolve(call: Call) -> dict[str, Any]:
    """Handle ``command.resolve``."""
    name = call.params.optional_text("name")
    added = command_host.find_added(call.server, name)
    if added is not None:
        return {
            "canonical": added.definition.name,
            "description": added.definition.description,
            "category": command_host.category_of(added),
            "available": True,
        }
    command = _find(name)
    return {
        "canonical": command.name,
        "description": command.description,
        "category": command.category,
        "available": command in usable_commands(),
    }


def _find(name: str) -> CommandDef:
    command = registry.resolve_command(name)
    if command is None:
        raise RpcError(Code.UNKNOWN_COMMAND, f"unknown command: {name}")
    return command


def dispatch(call: Call) -> dict[str, Any]:
    """Handle ``command.dispatch``: run a command; the result tells the peer what to do."""
    typed, behind = call.params.text("name"), call.params.optional_text("arg").strip()
    name, args = command_host.meant(call.server, typed, behind)
    added = command_host.doable(call.server, name)
    if added is not None:
        return {"type": "exec", "output": command_host.run_added(added, call.session()[1], args)}
    command = _find(name)
    if command.name == "undo":
        return _undo(call, args)
    reply = _do(call, command, args)
    if reply.ask is not None:
        return {"type": "send", "message": reply.ask, "notice": reply.text}
    return {"type": "exec", "output": reply.text}


def _undo(call: Call, args: str) -> dict[str, Any]:
    """Undo prompts; the text is returned to the peer for editing."""
    sid, session = call.session()
    if args.lower() == RESTORE:
        raise RpcError(
            Code.STALE, "nothing is restored here; `hermes-desktop sessions redo` does it"
        )
    prompts = int(args) if args.isascii() and args.isdigit() and len(args) <= 3 else 1  # noqa: PLR2004
    with alone_everywhere(call.server, sid, session, "/undo"):
        removed, text = take_back(call.db(), session, max(1, prompts))
    if not removed:
        raise RpcError(Code.STALE, "no user messages to undo")
    tell_info(call.server, sid, session)
    return {
        "type": "prefill",
        "message": text,
        "notice": f"Removed {count(removed, 'message')}.",
    }


def execute(call: Call) -> dict[str, Any]:
    """Handle ``slash.exec``: run a line as it was typed, with or without its slash."""
    typed = call.params.text("command").strip()
    name, _, args = typed.removeprefix("/").partition(" ")
    name, args = command_host.meant(call.server, name, args)
    command = registry.resolve_command(name)
    added = command_host.doable(call.server, name)
    if added is not None:
        return {"output": command_host.run_added(added, call.session()[1], args.strip())}
    if command is None:
        call.session()
        return {"output": f"There is no command /{name[:40]}. To list all commands, send /help."}
    if command.name == "undo":
        undone = _undo(call, args.strip())
        return {"output": undone["notice"], **undone}
    reply = _do(call, command, args.strip())
    if reply.ask is not None:
        return {"output": reply.text, "type": "send", "message": reply.ask}
    return {"output": reply.text}


def _do(call: Call, command: CommandDef, args: str) -> CommandReply:
    sid, session = call.session()
    if command not in usable_commands():
        where = " here" if command.available else " in this version"
        return CommandReply(f"/{command.name} is not there{where}.")
    if session["running"] and not command.while_busy:
        raise RpcError(
            Code.BUSY, f"session busy: interrupt the current turn before /{command.name}"
        )
    if command.name == "sessions" or (command.name == "resume" and not args):
        return _stored_sessions(call)
    import asyncio  # noqa: PLC0415 - most sessions of a program never need it

    context = context_of(call.server, sid, session, call.db(), command.name, args)
    try:
        reply = asyncio.run(run_command(command, context))
    except HermesError as error:
        raise in_protocol(error, Code.HOST) from error
    except Exception as error:
        log.exception("The command %s failed", command.name)
        words = f"/{command.name} failed: {type(error).__name__}; the log says more"
        raise RpcError(Code.HOST, words) from error
    if command.name in {"title", "branch"}:
        tell_info(call.server, sid, session)
    return reply


def _stored_sessions(call: Call) -> CommandReply:
    """Return the latest conversations, under numbers that ``/resume`` accepts."""
    _, session = call.session()
    try:
        found = call.db().list_summaries(limit=_MOST_LISTED, order="activity", empty=False)
    except HermesError as error:
        raise in_protocol(error, Code.LIST) from error
    session["listed"] = [each.id for each in found]
    clock = call.server.program.clock
    entries = [
        f"{number}. {first_words(each.label)} — {ago(each.last_active, clock)},"
        f" {count(each.message_count, 'message')}"
        for number, each in enumerate(found, 1)
    ]
    return CommandReply("\n".join(entries) or "There are no earlier sessions.")


def status(call: Call) -> dict[str, Any]:
    """Handle ``session.status``: return a textual status."""
    _, session = call.session()
    reply = _do(call, _find("status"), "")
    return {"output": reply.text, "running": session["running"]}


def complete_slash(call: Call) -> dict[str, Any]:
    """Handle ``complete.slash``."""
    text = call.params.optional_text("text")
    if not text.startswith("/"):
        return {"items": []}
    if " " in text:
        return {"items": [], "replace_from": text.rindex(" ") + 1}
    begun = text[1:].lower()
    added = [each.definition for each in command_host.all_added(call.server).values()]
    items = [
        {"text": name, "display": f"/{name}", "meta": _meta(command) + also}
        for command in (*usable_commands(), *added)
        for name, also in _names(command)
        if name.startswith(begun)
    ]
    return {"items": items, "replace_from": 1}


def _names(command: CommandDef) -> list[tuple[str, str]]:
    aliases = [(alias, f" (alias for /{command.name})") for alias in command.aliases]
    return [(command.name, ""), *aliases]


def complete_path(call: Call) -> dict[str, Any]:
    """Handle ``complete.path``: files and folders relative to the session's folder, or anywhere."""
    word = call.params.optional_text("word")
    session = call.session()[1] if call.params.has("session_id") else {}
    if not word or word.startswith("@") or "\0" in word:
        return {"items": []}
    head, slash, begun = word.rpartition("/")
    start = Path(folder_of(session))
    try:
        place = start / Path(f"{head}{slash}" or ".").expanduser()
        found = _matching(place, begun)
    except (OSError, RuntimeError):  # no permission, or no such home folder
        return {"items": []}
    return {"items": [_item(f"{head}{slash}", name, is_folder) for name, is_folder in found]}


def _matching(place: Path, begun: str) -> list[tuple[str, bool]]:
    """Return the matching names, folders first; hidden ones only if the dot was typed."""
    found: list[tuple[str, bool]] = []
    with os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if number >= _MOST_LOOKED_AT:
                break
            hidden = entry.name.startswith(".") and not begun.startswith(".")
            if not hidden and entry.name.lower().startswith(begun.lower()):
                found.append((entry.name, _is_folder(entry)))
    return sorted(found, key=lambda each: (not each[1], each[0]))[:MOST_ITEMS]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _item(head: str, name: str, is_folder: bool) -> dict[str, str]:  # noqa: FBT001 - of a pair
    shown = f"{name}/" if is_folder else name
    return {"text": f"{head}{shown}", "display": shown, "meta": "dir" if is_folder else ""}
