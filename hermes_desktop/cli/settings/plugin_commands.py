"""``hermes-desktop plugins``: the third-party code that runs in the programs of a home."""

from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.output import Column, as_text, counted
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import RefusedError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.agents.plugin_survey import PluginEntry, PluginSurvey

_COLUMNS = (
    Column("Name"),
    Column("State"),
    Column("Version", optional=True),
    Column("Description", gives_way=True),
)
_MOST_FILES = 40
_WITH_RIGHTS = (
    "It runs with all your permissions inside this program and can read every session and key."
)


@click.group()
def plugins() -> None:
    """List plugins and hooks, and choose which of them run.

    Plugins are in the folder `plugins` of the home, event hooks in `hooks`, and shell hooks under
    `hooks:` in config.yaml; installed packages can also provide plugins. None of them runs before
    you enable it, and one that was changed since does not run until you enable it again.
    """


@plugins.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def list_plugins(*, as_json: bool, paths: "HermesPaths") -> None:
    """List plugins and hooks without running them.

    In a pipe: name, state (enabled, not enabled, changed, not usable), version, description.
    """
    survey = _survey(paths).look()
    if as_json:
        output.write_json([_object(each) for each in survey.entries])
    elif not survey.entries:
        output.write("This home has no plugins or hooks.\n")
    else:
        output.write(as_text(_COLUMNS, [_row(each) for each in survey.entries]))
    for warning in survey.warnings:
        output.say(warning)


@plugins.command()
@click.argument("name")
@with_consent
@with_home
def enable(*, name: str, consent: Consent, paths: "HermesPaths") -> None:
    """Enable a plugin or hook from the next start on.

    Shows what would run: its location, its files and the events that it declares. If any of these
    change, it does not run until you enable it again.
    """
    survey = _survey(paths)
    entry = survey.find(output.without_surrogates(name))
    if entry.standing == "not usable":
        raise RefusedError(f"{entry.key} cannot be used here.", entry.reason, "")
    if entry.runs:
        _tell(consent, entry, f"{entry.key} is already enabled.")
        return
    if consent.obtain(_preview(entry), "Enable it?"):
        entry = survey.enable(entry)
    _tell(consent, entry, f"{entry.key} is enabled; it runs from the next start on.")


@plugins.command()
@click.argument("name")
@with_consent
@with_home
def disable(*, name: str, consent: Consent, paths: "HermesPaths") -> None:
    """Disable a plugin or hook from the next start on."""
    survey = _survey(paths)
    entry = survey.find(output.without_surrogates(name))
    if entry.standing == "not enabled":
        _tell(consent, entry, f"{entry.key} is not enabled.")
        return
    preview = output.one_line(f"{entry.key}: {entry.path}") + "\n"
    if consent.obtain(preview, "Disable it?"):
        entry = survey.disable(entry)
    _tell(consent, entry, f"{entry.key} is disabled; it no longer runs after the next start.")


def _survey(paths: "HermesPaths") -> "PluginSurvey":
    from hermes_desktop.services.agents.plugin_survey import PluginSurvey

    return PluginSurvey(paths, SystemClock())


def _preview(entry: "PluginEntry") -> str:
    title = " ".join(part for part in (entry.key, entry.version) if part)
    lines = [title]
    if entry.description and entry.kind != "shell":
        lines.append(f"  {entry.description}")
    if entry.author:
        lines.append(f"  by {entry.author}")
    lines.append(f"  {'Command' if entry.kind == 'shell' else 'Path'}: {entry.path}")
    lines.append(f"  Events: {', '.join(entry.hooks) or 'not declared'}")
    if entry.reason:
        lines.append(f"  {entry.reason}")
    lines.append(f"  {counted(len(entry.files), 'file')}:")
    marked = set(entry.changed)
    files = sorted(entry.files, key=lambda each: (each[0] not in marked, each[0]))
    for name, size in files[:_MOST_FILES]:
        lines.append(f"    {name} ({size:,} bytes){', changed' if name in marked else ''}")
    if len(entry.files) > _MOST_FILES:
        lines.append(f"    and {len(entry.files) - _MOST_FILES:,} more")
    gone = sorted(marked - {name for name, _ in entry.files})
    lines.extend(f"    {name}: missing" for name in gone)
    lines.append(f"  {_WITH_RIGHTS}")
    return "".join(f"{_indented(line)}\n" for line in lines)


def _indented(line: str) -> str:
    blanks = len(line) - len(line.lstrip(" "))
    return " " * blanks + output.one_line(line)


def _tell(consent: Consent, entry: "PluginEntry", words: str) -> None:
    if consent.as_json:
        output.write_json([_object(entry)])
    elif not consent.dry_run:
        output.write(output.one_line(words) + "\n")


def _row(entry: "PluginEntry") -> tuple[str, ...]:
    about = entry.reason if entry.standing == "not usable" else entry.description or entry.reason
    return (entry.key, entry.standing, entry.version, about)


def _object(entry: "PluginEntry") -> dict[str, Any]:
    return {
        "name": entry.key,
        "kind": entry.kind,
        "standing": entry.standing,
        "reason": entry.reason,
        "version": entry.version,
        "description": entry.description,
        "path": entry.path,
        "hooks": list(entry.hooks),
        "files": [name for name, _ in entry.files],
        "changed": list(entry.changed),
        "digest": entry.digest,
    }
