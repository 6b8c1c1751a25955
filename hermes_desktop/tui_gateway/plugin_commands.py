"""Commands that plugins add, for live sessions."""

import logging

from hermes_desktop import plugins
from hermes_desktop.commands.registry import CommandDef, resolve_command
from hermes_desktop.plugins.commands import PluginCommand
from hermes_desktop.tui_gateway.errors import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Session

log = logging.getLogger(__name__)

CATEGORY = "Plugins"


def find(name: str) -> PluginCommand | None:
    """The command of a plugin; our own names cannot be taken."""
    clean = name.strip().lstrip("/").lower()
    return plugins.COMMANDS.find(clean) if resolve_command(clean) is None else None


def definitions() -> tuple[CommandDef, ...]:
    """All of them, for lists."""
    return tuple(
        CommandDef(
            each.name,
            each.description or f"of the plugin {each.plugin}",
            "About",
            args_hint=each.args_hint,
        )
        for each in plugins.COMMANDS.all()
        if resolve_command(each.name) is None
    )


def run(command: PluginCommand, session: Session, args: str) -> str:
    """Do one; its answer. Blocks for a bounded time.

    Raises:
        RpcError: It failed, or took too long.
    """
    try:
        return command.run(args, lambda: bool(session.get("_closing")))
    except TimeoutError as error:
        raise RpcError(Code.HOST, f"/{command.name} took too long") from error
    except BaseException as error:  # somebody else's code
        log.warning("/%s of %s failed", command.name, command.plugin, exc_info=True)
        words = f"/{command.name} failed: {type(error).__name__}; the log says more"
        raise RpcError(Code.HOST, words) from error
