"""Mapping of commands to their handlers."""

from collections.abc import Awaitable, Callable, Mapping

from hermes_desktop.commands import (
    about_commands,
    approval_commands,
    conversation_commands,
    gateway_commands,
    insights_command,
    memory_command,
    model_commands,
    resume_commands,
    work_commands,
)
from hermes_desktop.commands.context import CommandContext, CommandReply, Handler
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.errors import ConfigError, HermesError, ProviderError, StateError

HANDLERS: Mapping[str, Handler] = {
    "new": work_commands.new,
    "stop": work_commands.stop,
    "retry": conversation_commands.retry,
    "undo": conversation_commands.undo,
    "title": conversation_commands.title,
    "resume": resume_commands.resume,
    "sessions": resume_commands.sessions,
    "branch": conversation_commands.branch,
    "compress": conversation_commands.compress,
    "status": about_commands.status,
    "queue": work_commands.queue,
    "steer": work_commands.steer,
    "background": work_commands.background,
    "agents": work_commands.agents,
    "model": model_commands.model,
    "memory": memory_command.memory,
    "reasoning": model_commands.reasoning,
    "fast": model_commands.fast,
    "usage": model_commands.usage,
    "insights": insights_command.insights_,
    "approve": approval_commands.approve,
    "deny": approval_commands.deny,
    "yolo": approval_commands.yolo,
    "restart": gateway_commands.restart,
    "platform": gateway_commands.platform,
    "sethome": gateway_commands.sethome,
    "help": about_commands.help_,
    "commands": about_commands.commands,
    "whoami": about_commands.whoami,
    "profile": about_commands.profile,
    "version": about_commands.version,
}
"""By canonical name; contains every available command of the registry."""


PREVIEWS: Mapping[str, Callable[[CommandContext], Awaitable[str]]] = {
    "undo": conversation_commands.undo_preview,
}


async def run_command(command: CommandDef, context: CommandContext) -> CommandReply:
    """Run a command. Refusals and failures become the answer; bugs are raised."""
    try:
        return await HANDLERS[command.name](context)
    except HermesError as error:
        return CommandReply(error_text(error, in_window=context.sender.in_window))


async def preview_command(command: CommandDef, context: CommandContext) -> str:
    """Return more about what a destructive command would do, for the question before it.

    Raises:
        HermesError: It would be refused.
    """
    preview = PREVIEWS.get(command.name)
    return await preview(context) if preview is not None else ""


def error_text(error: HermesError, *, in_window: bool) -> str:
    """Format an error as an answer in a chat.

    The locations of files and servers are shown only to the user at this machine.
    """
    inside = isinstance(error, ConfigError | StateError | ProviderError) and not in_window
    parts = (error.title, "" if inside else error.detail, error.hint)
    return " ".join(part for part in parts if part)
