"""The menu of commands that Telegram shows beside the message field."""

import re

from hermes_desktop.commands.registry import available_commands

_MOST, _LONGEST = 60, 256
_NAME = re.compile(r"[a-z0-9_]{1,32}\Z")


def menu() -> list[tuple[str, str]]:
    """Return name and description of each command available in chats."""
    found = [
        (each.name, (each.description or each.name)[:_LONGEST])
        for each in available_commands()
        if _NAME.match(each.name)
    ]
    return found[:_MOST]
