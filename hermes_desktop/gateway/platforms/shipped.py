"""The platforms that are part of this program."""

import importlib
from functools import cached_property
from typing import Protocol

from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.checks import CheckResult
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.platforms.telegram.loading import lacking

_SERVED = {Platform.TELEGRAM: "hermes_desktop.gateway.platforms.telegram.serving"}
"""Modules with a class ``Serving``, loaded on demand; see :class:`Serving`."""

_LACKS = {Platform.TELEGRAM: lacking}
"""Checks for missing packages, which load none of them."""


class Serving(Protocol):
    """Factory and settings check of one platform. One instance per registry."""

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        """Create an adapter; see :class:`AdapterRegistry`."""
        ...

    async def check(self, config: PlatformConfig, context: AdapterContext) -> CheckResult:
        """Check the settings; see :data:`PlatformCheck`."""
        ...


class _LazyPlatform:
    """A platform whose module is loaded on first use."""

    def __init__(self, module: str) -> None:
        self._module = module

    def load(self) -> None:
        _ = self._serving

    def make(self, config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
        return self._serving.make(config, context)

    async def check(self, config: PlatformConfig, context: AdapterContext) -> CheckResult:
        return await self._serving.check(config, context)

    @cached_property
    def _serving(self) -> Serving:
        serving: Serving = importlib.import_module(self._module).Serving()
        return serving


def shipped_platforms(timing: LinkTiming | None = None) -> AdapterRegistry:
    """Return a registry with all of them."""
    registry = AdapterRegistry(timing=timing)
    for platform, module in _SERVED.items():
        late = _LazyPlatform(module)
        lacks = _LACKS.get(platform, lambda: "")
        registry.register(platform, late.make, late.check, lacks, late.load)
    return registry
