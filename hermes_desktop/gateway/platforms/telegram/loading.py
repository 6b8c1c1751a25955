"""Loads the library for Telegram when it is needed, and not before."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions

if TYPE_CHECKING:
    from hermes_desktop.gateway.platforms.telegram.api import TelegramApi

ApiMaker = Callable[[str, TelegramOptions], "TelegramApi"]

_MODULE = "hermes_desktop.gateway.platforms.telegram.api"


def load_api(token: str, options: TelegramOptions) -> "TelegramApi":
    """Load the library and make the API. Blocking: a fifth of a second at the first call.

    Raises:
        ImportError: The library is not installed.
    """
    api: TelegramApi = importlib.import_module(_MODULE).TelegramApi(token, options)
    return api
