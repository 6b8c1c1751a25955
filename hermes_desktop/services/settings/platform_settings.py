"""Platform settings that are not options: those in variables, and the home channel.

Blocking; the window uses it through ``settings_service``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes_desktop.core.errors import RefusedError, UsageError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_platforms import Platform, PlatformConfig
from hermes_desktop.gateway.config.user_lists import split_list, variable
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.config_patch import value_at
from hermes_desktop.settings.env_file import read_env_file, set_env_lines
from hermes_desktop.settings.safe_replacement import is_managed

Where = Literal["", "environment", ".env", "config.yaml"]

_TRUE = frozenset({"true", "1", "yes"})
_MORE_LISTS: Mapping[str, tuple[str, ...]] = {
    Platform.TELEGRAM.value: ("TELEGRAM_GROUP_ALLOWED_USERS", "TELEGRAM_GROUP_ALLOWED_CHATS"),
    Platform.QQBOT.value: ("QQ_GROUP_ALLOWED_USERS",),
}
_FOR_ALL = "GATEWAY_ALLOWED_USERS"
_EVERYBODY = "GATEWAY_ALLOW_ALL_USERS"


@dataclass(frozen=True, slots=True)
class VariableAllowlist:
    """Senders who may write because a variable lists them.

    Attributes:
        variable: Its name.
        where: ``environment`` or ``.env``.
        names: Their ids; ``*`` means everyone.
    """

    variable: str
    where: Where
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HomeStanding:
    """The chat that receives a platform's unsolicited messages.

    Attributes:
        chat_id: Its id; "" when there is none.
        name: Its name, "" if it has none.
        where: The source that defines it.
        place: The variable, or the keys in config.yaml.
    """

    chat_id: str = ""
    name: str = ""
    where: Where = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class PlatformSettings:
    """The settings of one platform.

    Attributes:
        mentioned: Whether config.yaml has a block for it.
        listed: Who may write in addition to those in the option.
        everybody: Variables that admit everyone, each with its source.
        home: The home channel.
    """

    name: str
    mentioned: bool = False
    listed: tuple[VariableAllowlist, ...] = ()
    everybody: tuple[tuple[str, Where], ...] = ()
    home: HomeStanding = HomeStanding()


class PlatformSettingsRepository:
    """Reads platform settings that are not options, and sets the home channel.

    Args:
        paths: The home.
        environ: The process environment, without the keyring behind it.
    """

    def __init__(self, paths: HermesPaths, environ: Mapping[str, str]) -> None:
        self._paths = paths
        self._environ = environ

    def look(self) -> dict[str, PlatformSettings]:
        """Return the settings of every platform, by name.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        config = read_config(self._paths.config_yaml).data
        variables = read_env_file(self._paths.env_file)
        return {name: self._standing(name, config, variables) for name in PLATFORMS}

    def set_home(self, platform: str, chat_id: str) -> str:
        """Set a platform's home channel in the variable that ``/sethome`` also sets.

        Args:
            platform: Its name.
            chat_id: The chat; "" for none.

        Returns:
            The previous value.

        Raises:
            UsageError: The text cannot be the id of a chat.
            RefusedError: The home is managed, or the process environment sets the variable.
            ConfigError: ``.env`` cannot be read or written.
        """
        name = PLATFORMS[platform].home_variable
        managed = is_managed(self._paths.home, self._environ)
        if managed:
            raise RefusedError(
                "The home channel cannot be set here.", managed, "Send /sethome in that chat."
            )
        if self._environ.get(name, "").strip():
            raise RefusedError(
                "The home channel cannot be set here.",
                f"{name} is set in the environment, which overrides this setting.",
                "Remove it there first.",
            )
        before = read_env_file(self._paths.env_file).get(name, "").strip()
        chat_id = chat_id.strip()
        try:
            wanted = {name: chat_id or None}
            if chat_id != before:  # they belong to the previous chat
                wanted |= {f"{name}_NAME": None, f"{name}_THREAD_ID": None}
            set_env_lines(self._paths.env_file, wanted)
        except ValueError as error:
            raise UsageError(
                f"“{_short(chat_id)}” cannot be a chat ID.",
                "IDs contain no spaces, quotation marks or characters such as $.",
                "Copy the ID again, or send /sethome in that chat.",
            ) from error
        return before

    def _standing(
        self, name: str, config: Mapping[str, Any], variables: Mapping[str, str]
    ) -> PlatformSettings:
        sources: tuple[tuple[Where, Mapping[str, str]], ...] = (
            ("environment", self._environ),
            (".env", variables),
        )
        lists = (variable(name, "ALLOWED_USERS"), *_MORE_LISTS.get(name, ()), _FOR_ALL)
        switches = (variable(name, "ALLOW_ALL_USERS"), _EVERYBODY)
        return PlatformSettings(
            name,
            any(isinstance(block, Mapping) and block for block in _blocks(name, config)),
            tuple(
                VariableAllowlist(each, where, tuple(sorted(split_list(text))))
                for each in lists
                for where, text in _first(each, sources)
            ),
            tuple(
                (each, where)
                for each in switches
                for where, text in _first(each, sources)
                if text.lower() in _TRUE
            ),
            _home(name, config, sources),
        )


def _blocks(name: str, config: Mapping[str, Any]) -> Iterator[Any]:
    for path in ((name,), ("platforms", name), ("gateway", "platforms", name)):
        yield value_at(config, path)[1]


def _first(
    name: str, sources: tuple[tuple[Where, Mapping[str, str]], ...]
) -> Iterator[tuple[Where, str]]:
    """Yield the first source that sets a variable, with the value; nothing where it is not set."""
    for where, values in sources:
        text = values.get(name, "").strip()
        if text:
            yield where, text
            return


def _home(
    name: str,
    config: Mapping[str, Any],
    sources: tuple[tuple[Where, Mapping[str, str]], ...],
) -> HomeStanding:
    key = PLATFORMS[name].home_variable
    for where, chat_id in _first(key, sources) if key else ():
        named = next((text for _, text in _first(f"{key}_NAME", sources)), "")
        return HomeStanding(chat_id, named, where, key)
    for path in (("platforms", name), ("gateway", "platforms", name)):
        block = value_at(config, path)[1]
        home = PlatformConfig.from_dict(block).home_channel
        if home is not None:
            place = ".".join((*path, "home_channel"))
            return HomeStanding(home.chat_id, home.name, "config.yaml", place)
    return HomeStanding()


def _short(text: str, most: int = 40) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
