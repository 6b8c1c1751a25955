"""Real plugins, event hooks and shell hooks in a home."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.plugins.commands import CommandTable
from hermes_desktop.plugins.hooks import HookRegistry
from hermes_desktop.plugins.loading import LoadedPlugin
from hermes_desktop.services.agents.plugin_care import PluginManager
from hermes_desktop.services.agents.plugin_survey import PluginEntry, PluginSurvey


def plugin(home: Path, name: str, code: str, **files: str) -> Path:
    """Create a plugin with that code; further files by name, with ``__`` for a dot."""
    return _folder(home / "plugins" / name, "plugin.yaml", "__init__.py", name, code, files)


def event_hook(home: Path, name: str, code: str, *events: str) -> Path:
    """Create an event hook."""
    folder = _folder(home / "hooks" / name, "HOOK.yaml", "handler.py", name, code, {})
    (folder / "HOOK.yaml").write_text(json.dumps({"name": name, "events": list(events)}))
    return folder


def _folder(
    folder: Path, manifest: str, first: str, name: str, code: str, files: Mapping[str, str]
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    about = {"name": name, "version": "1.0", "description": f"About {name}", "author": "Ann"}
    (folder / manifest).write_text(json.dumps({**about, "provides_hooks": ["on_session_end"]}))
    (folder / first).write_text(dedent(code))
    for file, text in files.items():
        path = folder / file.replace("__", ".")
        path.write_text(dedent(text))
    return folder


def shell_hooks(home: Path, **events: Any) -> None:
    """Write ``hooks:`` to config.yaml."""
    (home / "config.yaml").write_text(json.dumps({"hooks": events}))


def survey(home: Path) -> PluginSurvey:
    return PluginSurvey(HermesPaths(home, home), SystemClock())


def entries(home: Path) -> dict[str, PluginEntry]:
    return {each.key: each for each in survey(home).look().entries}


def enable(home: Path, *keys: str) -> None:
    """Enable plugins in their current version; all if none is named."""
    look = survey(home)
    for key in keys or [each.key for each in look.look().entries]:
        look.enable(look.find(key))


def care(
    home: Path, *, seconds: float = 60.0, **environ: str
) -> tuple[PluginManager, HookRegistry]:
    """Return the object that loads plugins, with a registry of its own."""
    registry = HookRegistry()
    made = PluginManager(
        HermesPaths(home, home),
        environ={**os.environ, **environ},
        redactor=SecretRedactor(),
        clock=SystemClock(),
        registry=registry,
        commands=CommandTable(),
        seconds=seconds,
    )
    return made, registry


@contextlib.contextmanager
def loaded(
    home: Path, *, seconds: float = 60.0, **environ: str
) -> Iterator[tuple[HookRegistry, dict[str, LoadedPlugin], list[Notice]]]:
    """Load the enabled plugins; yield the registry, the outcome of each, and the notices."""
    made, registry = care(home, seconds=seconds, **environ)
    notices: list[Notice] = []
    done = {each.found.key: each for each in made.load(notices.append)}
    try:
        yield registry, done, notices
    finally:
        made.close()
