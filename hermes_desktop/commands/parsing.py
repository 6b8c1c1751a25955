"""Parsing of commands and their arguments."""

import re
from dataclasses import dataclass

_NAME = re.compile(r"[^\W_][\w-]*")
_DASHES = str.maketrans({"—": "--", "–": "-", "−": "-"})


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command as typed.

    Attributes:
        name: The name in lower case, without prefix and without the bot's name; any word.
        args: The text after it, stripped; typographic dashes are hyphens again.
        prefix: The prefix that was typed.
    """

    name: str
    args: str = ""
    prefix: str = "/"


def parse_command(text: str, prefix: str = "/") -> TypedCommand | None:
    """Parse a message as a command, if it looks like one.

    It does when it begins with a slash, or with the platform's own prefix, and a word. Paths
    (``/etc/hosts``) and symbols (``/?``) are not commands, nor is anything after a leading blank.

    Args:
        text: The message.
        prefix: The prefix of commands on its platform; a slash is valid everywhere.
    """
    used = next((each for each in {"/", prefix} if each and text.startswith(each)), None)
    if used is None:
        return None
    word, _, rest = _split(text[len(used) :])
    name = word.partition("@")[0].lower()
    if not _NAME.fullmatch(name):
        return None
    return TypedCommand(name, rest.translate(_DASHES), used)


def _split(text: str) -> tuple[str, str, str]:
    parts = re.match(r"(\S*)(\s*)(.*)", text, re.DOTALL)
    assert parts is not None  # noqa: S101 - the pattern matches every text
    return parts[1], parts[2], parts[3].strip()


def take_flags(args: str, *flags: str) -> tuple[frozenset[str], str]:
    """Extract ``--flags`` from arguments.

    Args:
        args: The text after a command.
        flags: Known flags with their hyphens.

    Returns:
        The flags that were found, and the remaining text, in order.
    """
    words = args.split()
    found = frozenset(word.lower() for word in words if word.lower() in flags)
    if not found:
        return found, args
    return found, " ".join(word for word in words if word.lower() not in flags)


def take_option(args: str, option: str) -> tuple[str | None, str]:
    """Extract ``--option value`` or ``--option=value`` from arguments.

    Returns:
        The value ("" when none follows, None without the option), and the remaining text.
    """
    words = args.split()
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.lower() != option:
            continue
        taken = 1
        if not equals:
            following = words[number + 1 : number + 2]
            value = following[0] if following and not following[0].startswith("--") else ""
            taken = 2 if value else 1
        return value, " ".join([*words[:number], *words[number + taken :]])
    return None, args
