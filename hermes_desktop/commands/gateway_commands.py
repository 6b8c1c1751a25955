"""Commands about the gateway and its platforms."""

from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.words import items
from hermes_desktop.core.errors import RefusedError, UsageError


async def restart(context: CommandContext) -> CommandReply:
    """Handle ``/restart``: running replies get time to end first."""
    if await context.host.restart():
        return CommandReply("The gateway restarts when the running replies have finished.")
    raise RefusedError(
        "The gateway cannot be restarted from here.",
        "No program supervises it and could start it again.",
        "Restart it where it runs.",
    )


async def platform(context: CommandContext) -> CommandReply:
    """Handle ``/platform list``, ``pause <name>``, ``resume <name>``."""
    action, _, name = context.args.partition(" ")
    name = name.strip().lower()
    if action.lower() in {"", "list"}:
        return CommandReply(_listed(context))
    if action.lower() not in {"pause", "resume"} or not name:
        raise UsageError(
            "This cannot be understood.",
            "Name the platform to pause or resume.",
            f"Send {context.name('platform')} list, pause <name> or resume <name>.",
        )
    if action.lower() == "pause":
        if name == context.sender.platform:
            raise RefusedError(
                "You are writing on this platform.",
                "While it is paused, it could not receive your request to resume it.",
                "Pause it in the window, or from another platform.",
            )
        await context.host.pause(name)
        return CommandReply(
            f"{name} is paused. To resume it, send {context.name('platform')} resume {name}."
        )
    await context.host.resume(name)
    return CommandReply(f"{name} is connected again.")


def _listed(context: CommandContext) -> str:
    platforms = context.host.platforms()
    if not platforms:
        return "No platforms are connected here."
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
        f"From the next start on, {context.sender.platform} messages that are not replies go "
        "to this chat."
    )
