"""Commands about the gateway and its platforms."""

from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.words import items
from hermes_desktop.core.errors import RefusedError, UsageError


async def restart(context: CommandContext) -> CommandReply:
    """Handle ``/restart``: running replies get time to end first."""
    if await context.host.restart():
        return CommandReply("The gateway starts anew as soon as running replies have ended.")
    raise RefusedError(
        "The gateway cannot be started anew from here.",
        "Nothing watches over it that could do that.",
        "Start it anew where it runs.",
    )


async def platform(context: CommandContext) -> CommandReply:
    """Handle ``/platform list``, ``pause <name>``, ``resume <name>``."""
    action, _, name = context.args.partition(" ")
    name = name.strip().lower()
    if action.lower() in {"", "list"}:
        return CommandReply(_listed(context))
    if action.lower() not in {"pause", "resume"} or not name:
        raise UsageError(
            "That is not clear.",
            "A platform is paused or resumed by its name.",
            f"Say {context.name('platform')} list, pause <name> or resume <name>.",
        )
    if action.lower() == "pause":
        if name == context.sender.platform:
            raise RefusedError(
                "This is the platform you write on.",
                "Paused, it would not hear you take that back.",
                "Pause it in the window, or from another platform.",
            )
        await context.host.pause(name)
        return CommandReply(f"{name} is paused until {context.name('platform')} resume {name}.")
    await context.host.resume(name)
    return CommandReply(f"{name} is connected again.")


def _listed(context: CommandContext) -> str:
    platforms = context.host.platforms()
    if not platforms:
        return "No platform is served here."
    return items(
        *(
            f"{each.name}: {each.state}" + (f" — {each.detail}" if each.detail else "")
            for each in platforms
        )
    )


async def sethome(context: CommandContext) -> CommandReply:
    """Handle ``/sethome``."""
    await context.host.set_home()
    return CommandReply(
        f"Unasked news of {context.sender.platform} go to this chat from the next start on."
    )
