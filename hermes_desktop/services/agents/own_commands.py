"""The user's own commands: ``quick_commands`` of a home, read and run."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from hermes_desktop.commands.quick_commands import QuickRunner
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.clean_environment import is_secret_name
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import read_env_file

log = logging.getLogger(__name__)

_SHORTEST_SECRET = 6


def quick_section(paths: HermesPaths) -> Mapping[str, Any]:
    """Return the current ``quick_commands`` of the home. Blocking; empty if unreadable."""
    try:
        section = read_config(paths.config_yaml).data.get("quick_commands")
    except ConfigError as error:
        log.warning("The user's own commands are left out: %s", error)
        return {}
    return section if isinstance(section, Mapping) else {}


def quick_runner(
    paths: HermesPaths, environ: Mapping[str, str], clean: Callable[[str], str]
) -> QuickRunner:
    """Return the runner of shell commands: in the home, without its secrets.

    Args:
        paths: The home.
        environ: The process environment.
        clean: Removes secrets from text.
    """
    return QuickRunner(environ, paths.home, clean, lambda: _secrets(paths, environ))


def _secrets(paths: HermesPaths, environ: Mapping[str, str]) -> list[str]:
    """Return the values of secret-like variables in the environment and ``.env``. Blocking."""
    try:
        values = {**read_env_file(paths.env_file), **environ}
    except ConfigError:
        values = dict(environ)
    return [
        value
        for name, value in values.items()
        if len(value) >= _SHORTEST_SECRET and is_secret_name(name)
    ]
