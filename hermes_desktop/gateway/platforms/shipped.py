"""The platforms that this program can serve."""

import importlib
from functools import cached_property
from typing import Protocol

from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.checks import CheckAnswer
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.platforms.telegram import packages

_SERVED = {Platform.TELEGRAM: "hermes_desktop.gateway.platforms.telegram.serving"}
"""Modules with a class ``Serving``, loaded once they are needed; see :class:`Serving`."""

_LACKS = {Platform.TELEGRAM: packages.lacking}
"""What they need beyond the program itself, looked for without loading any of it."""


class Serving(Protocol):
    """Makes adapters of one platform and tries its settings. One for each registry."""

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        """The factory; see :class:`AdapterRegistry`."""
        ...

    async def check(self, config: PlatformConfig, context: AdapterContext) -> CheckAnswer:
        """See :data:`PlatformCheck`."""
        ...


class _Late:
    """A platform whose module is loaded when somebody uses it."""

    def __init__(self, module: str) -> None:
        self._module = module

    def load(self) -> None:
        _ = self._serving

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        return self._serving.make(config, context)

    async def check(self, config: PlatformConfig, context: AdapterContext) -> CheckAnswer:
        return await self._serving.check(config, context)

    @cached_property
    def _serving(self) -> Serving:
        serving: Serving = importlib.import_module(self._module).Serving()
        return serving


def shipped_platforms(timing: LinkTiming | None = None) -> AdapterRegistry:
    """A registry with all of them."""
    registry = AdapterRegistry(timing=timing)
    for platform, module in _SERVED.items():
        late = _Late(module)
        lacks = _LACKS.get(platform, lambda: "")
        registry.register(platform, late.make, late.check, lacks, late.load)
    return registry
