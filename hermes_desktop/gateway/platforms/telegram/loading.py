"""Loading of the Telegram library on demand, and what to install if it is missing."""

import importlib
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.proxies import ProxySettingError
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions

if TYPE_CHECKING:
    from hermes_desktop.gateway.platforms.telegram.api import TelegramApi

PACKAGE = "python-telegram-bot"
_WANTED = f"{PACKAGE}>=22.5,<23"


def install_command(prefix: str = sys.prefix, executable: str = sys.executable) -> str:
    """Return the command that installs the missing package where this program runs."""
    parts = Path(prefix).parts
    if "pipx" in parts:
        return f"pipx inject {Path(prefix).name} '{_WANTED}'"
    if "uv" in parts and "tools" in parts:
        return f"uv tool install --with '{_WANTED}' {Path(prefix).name}"
    return f"{executable} -m pip install '{_WANTED}'"


def missing_text() -> str:
    """Return a sentence about the missing package."""
    return f"The package {PACKAGE} is not installed. Run: {install_command()}"


def lacking() -> str:
    """Return that sentence if the package is missing, else "". Loads nothing."""
    return "" if find_spec("telegram") is not None else missing_text()


ApiMaker = Callable[[str, TelegramOptions], "TelegramApi"]

_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
_MODULE = "hermes_desktop.gateway.platforms.telegram.api"


def load_api(token: str, options: TelegramOptions) -> "TelegramApi":
    """Load the library and create the API. Blocking: a fifth of a second at the first call.

    Raises:
        ConfigError: The settings are invalid; no request was sent.
        ImportError: The library is not installed.
    """
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            "This is not a Telegram bot token.",
            "A token consists of a number, a colon and letters, without spaces.",
            "Copy it from @BotFather again.",
        )
    _look_at(options)
    module = importlib.import_module(_MODULE)
    try:
        api: TelegramApi = module.TelegramApi(token, options)
    except ProxySettingError as error:
        raise ConfigError(error.title, error.detail, error.hint) from None
    except module.BAD_ADDRESS as error:
        raise ConfigError(
            "The proxy for Telegram is not valid.", type(error).__name__, "Check its address."
        ) from None
    return api


def _look_at(options: TelegramOptions) -> None:
    if not options.base_url.startswith(("http://", "https://")):
        hint = "Use an address such as https://api.telegram.org/bot."
        raise ConfigError("The address of the Telegram server is not valid.", "", hint)
    scheme = (options.proxy or "http://").partition("://")[0]
    if scheme not in {"http", "https"}:
        hint = "Use the form http://host:port."
        raise ConfigError("Telegram supports HTTP proxies only.", "", hint)
