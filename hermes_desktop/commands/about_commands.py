"""Informational commands: about the commands, the sender, the session and the program."""

from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.commands import registry
from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.present_session import (
    chain_rows,
    context_line,
    number,
    session_row,
)
from hermes_desktop.commands.words import ago, count, items, lines
from hermes_desktop.core.errors import HermesError, UsageError

COMMANDS_PER_PAGE = 12
_ALWAYS = frozenset({"help", "whoami"})


def _usable(context: CommandContext) -> list[registry.CommandDef]:
    """Return the commands that apply in this chat and that this sender may use."""
    sender = context.sender
    return [
        command
        for command in (*registry.available_commands(), *context.added)
        if not (sender.in_window and command.instead_in_window)
        and (sender.is_admin or command.name in _ALWAYS | sender.command_names)
    ]


async def help_(context: CommandContext) -> CommandReply:
    """Handle ``/help``."""
    groups: dict[str, list[str]] = {}
    for command in _usable(context):
        groups.setdefault(command.category, []).append(command.help_line(context.sender.prefix))
    parts = ["\n".join([f"**{name}**", *group]) for name, group in groups.items()]
    return CommandReply("\n\n".join(parts))


async def commands(context: CommandContext) -> CommandReply:
    """Handle ``/commands [page]``."""
    usable = _usable(context)
    pages = max(1, -(-len(usable) // COMMANDS_PER_PAGE))
    wanted = context.args or "1"
    page = int(wanted[:6]) if wanted.isascii() and wanted.isdigit() else 0
    if not 1 <= page <= pages:
        raise UsageError(
            "There is no such page.",
            f"There are {count(pages, 'page')} of commands.",
            f"Send {context.name('commands')} 1.",
        )
    start = (page - 1) * COMMANDS_PER_PAGE
    shown = usable[start : start + COMMANDS_PER_PAGE]
    more = f"{context.name('commands')} {page + 1} shows the next page." if page < pages else ""
    return CommandReply(
        lines(
            f"**Commands, page {page} of {pages}**",
            *(command.help_line(context.sender.prefix) for command in shown),
            f"\n{more}" if more else "",
        )
    )


async def whoami(context: CommandContext) -> CommandReply:
    """Handle ``/whoami``."""
    sender = context.sender
    if sender.in_window:
        return CommandReply("You are the owner of this computer and can use all commands.")
    names = [f"{sender.user_name} ({sender.user_id})" if sender.user_name else str(sender.user_id)]
    if not sender.restricted:
        may = "Everyone who can write here can use all commands."
    elif sender.is_admin:
        may = "You are an admin here and can use all commands."
    else:
        known = {each.name for each in (*registry.available_commands(), *context.added)}
        usable = sorted(_ALWAYS | (sender.command_names & known))
        may = "You can use " + ", ".join(context.name(name) for name in usable) + "."
    return CommandReply(lines(f"You are {names[0]} on {sender.platform}.", may))


async def profile(context: CommandContext) -> CommandReply:
    """Handle ``/profile``; the folder is shown in direct chats only, not in groups."""
    facts, sender = context.facts, context.sender
    private = sender.in_window or sender.chat_type == "dm"
    home = f"Its folder is {facts.home}." if facts.home is not None and private else ""
    return CommandReply(lines(f"This chat uses the profile “{facts.profile}”.", home))


async def version(context: CommandContext) -> CommandReply:
    """Handle ``/version``."""
    return CommandReply(f"Hermes Desktop {context.facts.version}")


async def status(context: CommandContext) -> CommandReply:
    """Handle ``/status``; also while a reply is being written."""
    row = await session_row(context)
    since = context.host.running_since()
    if since is not None:
        doing = f"A reply is being written (started {ago(since, context.clock)})."
    else:
        doing = "A message is waiting." if context.host.is_busy() else "No reply is being written."
    if row is None:
        return CommandReply(
            items("There are no messages in this session yet.", doing, *_platforms(context))
        )
    row_id = str(row["id"])
    summary = await context.run(lambda: context.store.summary(row_id))
    parts = await context.run(lambda: chain_rows(context.store, row_id)) or [row]
    active = summary.last_active if summary is not None else float(row["started_at"])
    tokens = sum(number(part, "input_tokens") + number(part, "output_tokens") for part in parts)
    return CommandReply(
        items(
            f"Session {row_id}" + (f", “{row['title']}”" if row["title"] else ", no title"),
            f"Started {ago(float(parts[0]['started_at']), context.clock)}, last active "
            f"{ago(active, context.clock)}, {count(number(row, 'message_count'), 'message')}",
            await _model_line(context, row["model"]),
            f"{count(tokens, 'token')} used",
            await context_line(context, row_id),
            doing,
            *_platforms(context),
        )
    )


async def _model_line(context: CommandContext, stored: object) -> str:
    """Return the model of this session, and that of the settings if it differs."""
    override = {**context.host.model_override(), **await context.host.chosen()}

    def look() -> tuple[str, str, str]:
        choice = context.facts.choose_model(override)
        usual = context.facts.choose_model({}) if context.host.model_override() else choice
        effort = choice.reasoning_effort if choice is not None else ""
        return _name(choice), _name(usual), effort

    try:
        name, usual, effort = await context.run(look)
    except HermesError as error:
        return f"Model: {error.title}"
    name = name or override.get("model") or str(stored or "")
    thinking = f", thinking {effort}" if effort else ""
    if usual and usual != name:
        return f"Model: {name}{thinking} in this session, {usual} in the settings"
    return f"Model: {name}{thinking}" if name else ""


def _name(choice: ModelChoice | None) -> str:
    return choice.model if choice is not None else ""


def _platforms(context: CommandContext) -> list[str]:
    platforms = context.host.platforms()
    if not platforms:
        return []
    return ["Platforms: " + ", ".join(f"{each.name} {each.state}" for each in platforms)]
