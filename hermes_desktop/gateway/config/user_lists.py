"""Lists of users in variables: names per platform, parsing, and changing one in ``.env``."""

import re
from pathlib import Path

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.gateway.config.config_platforms import Platform
from hermes_desktop.settings.env_file import read_env_file, set_env_line

_OTHER_PREFIXES = {Platform.QQBOT.value: "QQ"}
_SAFE = re.compile(r"[A-Za-z0-9_@:.+\-]+")


def canonical_user(platform: str, user_id: str) -> str:
    """Return a user's id in the form used for comparison; WhatsApp adds device and server to it."""
    user_id = str(user_id).strip()
    if platform == Platform.WHATSAPP.value:
        return re.split("[:@]", user_id, maxsplit=1)[0].removeprefix("+")
    return user_id


def variable(platform: str, name: str) -> str:
    """Return the name of a platform's variable, e.g. ``TELEGRAM_ALLOWED_USERS``."""
    return f"{_OTHER_PREFIXES.get(platform, platform.upper())}_{name}"


def split_list(value: str | None) -> frozenset[str]:
    """Return the members of a comma-separated list."""
    return frozenset(_members(value))


def _members(value: str | None) -> list[str]:
    return [part for each in (value or "").split(",") if (part := each.strip())]


def change_user_list(env_file: Path, platform: str, *, add: str = "", remove: str = "") -> bool:
    """Change ``<PLATFORM>_ALLOWED_USERS`` in ``.env``, if the list exists. Blocking.

    An id that has a special meaning in that file is not added. A list without members is removed.

    Args:
        env_file: The file.
        platform: Value of the platform.
        add: A user's id, "" for none.
        remove: A user's id, "" for none.

    Returns:
        Whether the list was changed.

    Raises:
        ConfigError: The file cannot be read or written, or a user is to be removed from a list that
            contains more than plain ids.
    """
    name = variable(platform, "ALLOWED_USERS")
    members = _members(read_env_file(env_file).get(name))
    if not members:
        return False
    kept = [each for each in members if not remove or canonical_user(platform, each) != remove]
    if add and add not in kept and "*" not in kept and _SAFE.fullmatch(add):
        kept.append(add)
    if kept == members:
        return False
    if not all(_SAFE.fullmatch(each) or each == "*" for each in kept):
        if remove:
            raise ConfigError(
                f"{name} in .env cannot be changed from here.",
                f"The list in {env_file} contains more than IDs.",
                f"Remove {remove} from that line by hand.",
            )
        return False
    set_env_line(env_file, name, ",".join(kept) or None)
    return True
