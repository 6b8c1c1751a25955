"""Configuration of the gateway: platforms, users, sessions, and the layers of files and variables.

The names below are the public interface of this package. They are loaded on first use, because
every module of the package runs this file.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "DEFAULT_MAX_AGE_DAYS",
    "ChannelOverride",
    "GatewayConfig",
    "HomeChannel",
    "Platform",
    "PlatformConfig",
    "RunningSettings",
    "SessionResetPolicy",
    "StreamingConfig",
    "platform_or_none",
]

if TYPE_CHECKING:
    from hermes_desktop.gateway.config.gateway_config import (
        DEFAULT_MAX_AGE_DAYS,
        ChannelOverride,
        GatewayConfig,
        HomeChannel,
        Platform,
        PlatformConfig,
        RunningSettings,
        SessionResetPolicy,
        StreamingConfig,
        platform_or_none,
    )
else:  # hidden from type checkers, which would accept any imported name

    def __getattr__(name: str) -> Any:
        if name in __all__:
            return getattr(import_module(f"{__name__}.gateway_config"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
