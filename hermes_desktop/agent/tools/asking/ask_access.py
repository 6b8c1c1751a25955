"""``ask_access``: the assistant asks the user to let commands reach a path or a host."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox.access import (
    AccessRefusedError,
    host_access,
    is_granted,
    named_path,
    path_access,
)
from hermes_desktop.agent.sandbox.grants import Access, Grant, Level, Missing
from hermes_desktop.agent.sandbox.hints import what_was_missing
from hermes_desktop.agent.sandbox.sandbox import Plan
from hermes_desktop.agent.tools.asking.request_queue import plain
from hermes_desktop.agent.tools.base import Answer, Arguments, Tool, ToolContext, ToolError
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.user_requests import ACCESS_TOOL, ApprovalChoice

MOST_WHY = 500
_MOST_COMMAND = 300
_MOST_HOSTS = 3
_FAILED = "failed command"


@dataclass(frozen=True, slots=True)
class FailedCommand:
    """The latest command of a session, which failed.

    Attributes:
        command: The command, without secrets.
        missing: What it lacked.
    """

    command: str
    missing: tuple[Missing, ...]

    def lacked(self, access: Access) -> bool:
        """Return whether the command failed because it lacked an access, as far as is known."""
        return any(
            each.value == access.value or Path(access.value) in Path(each.value).parents
            for each in self.missing
            if each.kind == access.kind
        )


def what_it_lacked(
    command: str,
    code: int | None,
    output: str,
    plan: Plan | None,
    context: ToolContext,
    denied: Iterable[str] = (),
) -> Answer:
    """Return what a command lacked, for the model, and remember it for the next question.

    Args:
        command: The command that has ended.
        code: Its exit code.
        output: What it printed, without secrets.
        plan: How it ran.
        context: The context of the call.
        denied: The hosts that were refused to it.
    """
    context.notes.pop(_FAILED, None)
    if not code or plan is None or plan.hold.level is Level.NONE:
        return {}
    missing = what_was_missing(output, plan.grant, plan.sandbox.homes, denied)
    context.notes[_FAILED] = FailedCommand(context.setup.clean(command), missing)
    if not missing:
        return {}
    return {
        "not_granted": [f"{each.kind} {each.value}" for each in missing],
        "note": f"This may be why it failed. If the task needs it, ask for it by {ACCESS_TOOL}, "
        "then run the command again.",
    }


def _ask(arguments: Arguments, context: ToolContext) -> Answer:
    setup = context.setup
    sandbox, level = setup.sandbox, setup.sandbox.status().level
    if level is Level.NONE:
        raise ToolError("There is no sandbox here: run the command, and the user is asked.")
    why = " ".join(plain(arguments["why"]).split())
    if not why:
        raise ToolError("why is blank. Say in a sentence what it is needed for.")
    grant = sandbox.reach(context.session_id)
    try:
        access = _wanted(arguments, grant, context)
    except AccessRefusedError as error:
        raise ToolError(
            f"Refused without asking. {error} Do not look for a way around it; tell the user."
        ) from error
    if is_granted(access, grant, sandbox.homes):
        return {"granted": "already", access.kind: access.value}
    choice = context.gate.access(
        access,
        _headline(access, level),
        _sentences(arguments["what"], access, grant, level, context),
        why[:MOST_WHY],
        context.session_id,
        context.cancel,
        may_keep=setup.keep_grant is not None,
    )
    return _kept(choice, access, context)


def _wanted(arguments: Arguments, grant: Grant, context: ToolContext) -> Access:
    write = arguments.get("access", "read") == "write"
    if arguments["kind"] == "host":
        return host_access(arguments["what"])
    return path_access(arguments["what"], grant, context.setup.sandbox.homes, write=write)


def _kept(choice: ApprovalChoice, access: Access, context: ToolContext) -> Answer:
    """Remember the user's answer, and return it for the model."""
    sandbox, keep = context.setup.sandbox, context.setup.keep_grant
    answer = {access.kind: access.value, "note": "Run the command again."}
    if choice == "once":
        sandbox.granted.allow(context.session_id, access, once_in=context.cancel)
        return {"granted": "for the next command only", **answer}
    if choice == "always" and keep is not None:
        try:
            keep(access)
        except HermesError as error:
            answer["note"] += f" It could not be kept in the settings: {error.title}"
        else:
            sandbox.kept.add(access)
            return {"granted": "always", **answer}
    sandbox.granted.allow(context.session_id, access)
    return {"granted": "in this session", **answer}


# ------------------------------------------------------------------------- texts for the user


def _headline(access: Access, level: Level) -> str:
    if access.kind == "host":
        whole = level is Level.PARTLY_HELD
        return f"Let commands {'use the network' if whole else 'reach this host'}?"
    what = "folder" if Path(access.value).is_dir() else "file"
    return f"Let commands {'change' if access.write else 'read'} this {what}?"


def _sentences(
    asked: str, access: Access, grant: Grant, level: Level, context: ToolContext
) -> tuple[str, ...]:
    """Return what the user must know: what has happened, and what permission would allow."""
    return tuple(
        each
        for each in (
            _led_here(asked, access, context),
            _consequence(access, grant, level),
            _what_happened(access, context),
        )
        if each
    )


def _led_here(asked: str, access: Access, context: ToolContext) -> str:
    """Return the path as the assistant named it, if links lead elsewhere; else ""."""
    if access.kind == "host":
        return ""
    setup = context.setup
    named = named_path(asked, setup.cwd, setup.sandbox.homes)
    if os.path.normpath(named) == access.value:
        return ""
    return f"The assistant named it “{_one_line(asked)}”, which leads here."


def _consequence(access: Access, grant: Grant, level: Level) -> str:
    if access.kind == "host":
        if level is Level.PARTLY_HELD:
            return (
                "The sandbox on this computer cannot restrict commands to single hosts: they can "
                "then reach every host, and send it what they can read."
            )
        return "Commands can then send this host every file that they can read."
    is_folder = Path(access.value).is_dir()
    what = "everything in this folder" if is_folder else "this file"
    words = f"Commands can then {'change and delete' if access.write else 'read'} {what}."
    if not grant.is_online:
        return words
    hosts = sorted(grant.hosts)[:_MOST_HOSTS]
    more = grant.network or len(grant.hosts) > _MOST_HOSTS or level is Level.PARTLY_HELD
    where = "hosts on the internet" if more else " and ".join(hosts)
    return f"{words} They can also send it to {where}."


def _what_happened(access: Access, context: ToolContext) -> str:
    failed = context.notes.get(_FAILED)
    if not isinstance(failed, FailedCommand) or not failed.lacked(access):
        return "No command has failed without it so far."
    return (
        f"“{_one_line(failed.command)}” was started and failed. With your permission it will be "
        "started again; what it did before it failed stays."
    )


def _one_line(text: str) -> str:
    words = " ".join(plain(text).split())
    return words if len(words) <= _MOST_COMMAND else f"{words[:_MOST_COMMAND]}…"


ASK_ACCESS = Tool(
    ACCESS_TOOL,
    "terminal",
    "Ask the user to let commands reach a file, a folder or a host. Commands run in a sandbox: "
    "they reach the system and the working folder and have no network, not even servers of each "
    "other, and what is not granted does not exist for them. Ask only for what the task needs, "
    "and as little as possible. Then run the command again.",
    {
        "kind": {"type": "string", "enum": ["path", "host"], "description": "What it is."},
        "what": {
            "type": "string",
            "description": "The path of a file or folder that exists, or the name of one host.",
        },
        "access": {
            "type": "string",
            "enum": ["read", "write"],
            "description": "For a path; read if left out.",
        },
        "why": {"type": "string", "description": "What it is needed for: one short sentence."},
    },
    _ask,
    required=("kind", "what", "why"),
    subject="what",
)
