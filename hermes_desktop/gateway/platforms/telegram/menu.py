"""The menu of commands that Telegram shows beside the field for messages."""

import re

from hermes_desktop.commands.registry import available_commands

_MOST, _LONGEST = 60, 256
_NAME = re.compile(r"[a-z0-9_]{1,32}\Z")


def menu() -> list[tuple[str, str]]:
    """Name and description of each command that chats have."""
    found = [
        (each.name, (each.description or each.name)[:_LONGEST])
        for each in available_commands()
        if _NAME.match(each.name)
    ]
    return found[:_MOST]
