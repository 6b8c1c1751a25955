"""``config``: list, explain and change settings; earlier versions of config.yaml."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.output import Column, as_text
from hermes_desktop.core.clock import SystemClock

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.services.settings.settings_repository import (
        Change,
        Saved,
        SettingsRepository,
    )
    from hermes_desktop.settings.config_versions import Version

# ------------------------------------------------------------------------------
# Descriptions of a setting: its value, its source, its meaning.


def shown(value: Any) -> str:
    """Return a value on one line, as it could be typed."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def source_words(view: "SettingView") -> str:
    """Return where a value comes from, and what the file contains if that has no effect."""
    if view.is_default:
        words = "default"
        return f"{words}; line {view.line} is invalid" if view.problem else words
    if view.source in {"config.yaml", "settings.yaml", "gateway.json"}:
        line = f", line {view.line}" if view.line else ""
        return f"{view.source}{line}"
    if view.source == "system":
        return "the system"
    words = f"{view.place} ({view.source})"
    return f"{words}, overrides {shown(view.stored)} in the file" if view.is_set else words


def as_object(view: "SettingView") -> dict[str, Any]:
    """Return the setting as a JSON object."""
    option = view.option
    return {
        "key": view.key,
        "value": view.value,
        "source": view.source,
        "place": view.place,
        "line": view.line,
        "is_set": view.is_set,
        "stored": view.stored,
        "default": option.default,
        "problem": view.problem,
        "label": option.title,
        "section": option.section,
        "kind": option.kind,
        "choices": list(option.choices or ()),
        "effect": option.effect.value,
        "hermes_reads_it": not option.unknown_to_hermes and option.store == "config",
        "known": True,
    }


def explanation(view: "SettingView") -> Iterator[str]:
    """Yield a description of a setting, line by line."""
    from hermes_desktop.settings.options import EFFECT_WORDS

    option = view.option
    yield f"{option.key} – {option.title}"
    yield option.help
    yield f"Now: {shown(view.value)} ({source_words(view)})."
    yield f"Default: {shown(option.default)}."
    if view.problem:
        yield f"The file contains {shown(view.stored)}: {view.problem}"
    yield option.allowed()
    for word, meaning in (option.choices or {}).items():
        yield f"  {word}: {meaning}"
    if option.consequence:
        yield option.consequence
    yield EFFECT_WORDS[option.effect]
    if option.unknown_to_hermes:
        yield option.unknown_to_hermes
    if option.store != "config":
        yield "This setting of the desktop program is not used by `hermes`."
    else:
        places = ", ".join(place.key for place in option.all_places())
        yield f"Accepted at: {places}."
    for key, line in view.ignored:
        nowhere = "neither this program nor `hermes` uses it"
        yield f"{key} (line {line}) is also in the file, but {nowhere}."
    if option.switched_on_by:
        sets = " or ".join(" with ".join(names) for names in option.switched_on_by)
        yield f"If the file does not set it, {sets} alone turns it on."
    if option.variables:
        order = "overrides" if option.variable_wins else "is used if it is not set in"
        yield f"The variable {' or '.join(option.variables)} {order} the file."


_COLUMNS = (Column("Setting"), Column("Value"), Column("From", gives_way=True))
_dry_run = click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
_json = click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")


@click.group("config")
def config() -> None:
    """Show and change settings without a text editor.

    config.yaml is changed value by value: comments, order and everything else in it stay, and the
    last five versions are kept. For secrets, see `hermes-desktop secrets`.
    """


@config.command("list")
@click.argument("words", nargs=-1)
@click.option("--set", "only_set", is_flag=True, help="Omit settings at their default.")
@_json
@with_home
def list_settings(
    *, words: tuple[str, ...], only_set: bool, as_json: bool, paths: "HermesPaths"
) -> None:
    """List settings with their values and sources.

    WORDS are searched for in names, labels and explanations. Keys of config.yaml that are not
    settings of this program are listed at the end, with their lines; they are only shown.
    """
    repository = _repository(paths)
    views = [
        v for v in repository.look(" ".join(words)) if v.is_set or not only_set or not v.is_default
    ]
    unknown = [] if words else repository.unknown()
    if as_json:
        others = [{"key": u.key, "value": u.value, "line": u.line, "known": False} for u in unknown]
        output.write_json([*(as_object(view) for view in views), *others])
        return
    if not views and not unknown:
        output.say("No settings match.")
        return
    rows = [(view.key, shown(view.value), source_words(view)) for view in views]
    rows += [(u.key, u.value, f"config.yaml, line {u.line}; only shown") for u in unknown]
    output.write(as_text(_COLUMNS, rows))
    for view in views:
        if view.problem:
            output.say(f"{view.key}: {view.problem} {shown(view.value)} is used.")


@config.command("get")
@click.argument("key")
@_json
@with_home
def get(*, key: str, as_json: bool, paths: "HermesPaths") -> None:
    """Print the effective value of a setting."""
    view = _repository(paths).find(output.without_surrogates(key))
    if as_json:
        output.write_json([as_object(view)])
        return
    output.write(output.one_line(shown(view.value)) + "\n")
    output.say(source_words(view))


@config.command("explain")
@click.argument("key")
@with_home
def explain(*, key: str, paths: "HermesPaths") -> None:
    """Show what a setting does and which values it accepts.

    Also shows the consequences of a change, and when it takes effect.
    """
    view = _repository(paths).find(output.without_surrogates(key))
    output.write("".join(output.one_line(line) + "\n" for line in explanation(view)))


@config.command("reference")
def reference() -> None:
    """Print all settings and secrets as a Markdown page."""
    from hermes_desktop.services.settings.settings_reference import settings_reference

    output.write(settings_reference())


@config.command("sandbox")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object.")
def sandbox(*, as_json: bool) -> None:
    """Show which sandbox for commands works on this computer.

    A: a closed sandbox; B: a partial one; C: none. Below A, the exact error is shown, and what you
    can do about it. Runs a short command at each level.
    """
    from dataclasses import asdict

    from hermes_desktop.services.settings.sandbox_check import check_sandbox

    view = check_sandbox()
    if as_json:
        output.write_json([asdict(view)])
        return
    remedy = f"{view.remedy} {view.command}".strip()
    lines = [f"{view.title} (level {view.level})", view.meaning]
    lines += [f"Error: {view.error}"] if view.error else []
    lines += [remedy] if remedy else []
    output.write("".join(output.one_line(line) + "\n" for line in lines))


@config.command("set")
@click.argument("pairs", nargs=-1, required=True, metavar="KEY VALUE [KEY VALUE]…")
@_dry_run
@_json
@with_home
def set_value(
    *, pairs: tuple[str, ...], dry_run: bool, as_json: bool, paths: "HermesPaths"
) -> None:
    """Change settings; if one value is not valid, nothing is changed.

    Separate the entries of a list with commas. Put a value that begins with a dash after `--`.
    """
    from hermes_desktop.services.settings.settings_repository import Change, find_option

    if len(pairs) % 2:
        raise click.UsageError("Enter a value for each setting: KEY VALUE.")
    words = [output.without_surrogates(word) for word in pairs]
    changes = []
    for key, text in zip(words[::2], words[1::2], strict=True):
        option = find_option(key)
        changes.append(Change(option.key, option.parse(text)))
    _save(paths, changes, dry_run=dry_run, as_json=as_json)


@config.command("unset")
@click.argument("keys", nargs=-1, required=True, metavar="KEY…")
@_dry_run
@_json
@with_home
def unset(*, keys: tuple[str, ...], dry_run: bool, as_json: bool, paths: "HermesPaths") -> None:
    """Remove settings from the file, so that their defaults apply."""
    from hermes_desktop.services.settings.settings_repository import Change, find_option

    changes = [Change(find_option(output.without_surrogates(key)).key, unset=True) for key in keys]
    _save(paths, changes, dry_run=dry_run, as_json=as_json)


@config.command("versions")
@_json
@with_home
def versions(*, as_json: bool, paths: "HermesPaths") -> None:
    """List earlier versions of config.yaml, newest first."""
    found = _repository(paths).config.versions()
    if as_json:
        output.write_json([_version(each) for each in found])
    elif not found:
        output.say("config.yaml has not been changed here yet.")
    else:
        columns = (Column("Number", right=True), Column("Replaced"), Column("File"))
        rows = [(each.number, _when(each), each.name) for each in found]
        output.write(as_text(columns, rows))


@config.command("diff")
@click.argument("version", default="1")
@with_home
def diff(*, version: str, paths: "HermesPaths") -> None:
    """Show what changed since an earlier version.

    VERSION is a number or a name from `config versions`; without one, the latest. Secrets are
    hidden.
    """
    store = _repository(paths).config
    found = store.diff_to(store.find_version(output.without_surrogates(version)))
    if found:
        output.write(output.neutralise(found))
    else:
        output.say("There are no changes.")


@config.command("restore")
@click.argument("version", default="1")
@with_consent
@with_home
def restore(*, version: str, consent: Consent, paths: "HermesPaths") -> None:
    """Restore an earlier version of config.yaml.

    VERSION is a number or a name from `config versions`; without one, the latest. The current
    content becomes a version, too.
    """
    repository = _repository(paths)
    found = repository.config.find_version(output.without_surrogates(version))
    preview = repository.restore(found, dry_run=True)
    if not preview.diff:
        output.say("The file already has this content; nothing was changed.")
        return
    if consent.obtain(output.neutralise(preview.diff), "Restore this version?"):
        _tell(paths, repository.restore(found), as_json=consent.as_json)


def _repository(paths: "HermesPaths") -> "SettingsRepository":
    import os

    from hermes_desktop.services.settings.settings_repository import SettingsRepository

    return SettingsRepository(paths, os.environ, SystemClock())


def _save(paths: "HermesPaths", changes: "list[Change]", *, dry_run: bool, as_json: bool) -> None:
    saved = _repository(paths).save(changes, dry_run=dry_run)
    if not dry_run:
        _tell(paths, saved, as_json=as_json)
        return
    if saved.diff:
        output.write(output.neutralise(saved.diff))
    else:
        output.say("Nothing would change.")
    for note in saved.notes:
        output.say(note)


def _tell(paths: "HermesPaths", saved: "Saved", *, as_json: bool) -> None:
    from hermes_desktop.services.settings.settings_repository import find_option
    from hermes_desktop.settings.options import EFFECT_WORDS

    repository = _repository(paths)
    views = [repository.find(change.key) for change in saved.changes]
    if as_json:
        output.write_json([as_object(view) for view in views])
    elif not saved.diff:
        output.say("No changes were needed.")
    else:
        for view in views:
            why = "" if view.is_set or view.is_default else f" ({source_words(view)})"
            output.write(output.one_line(f"{view.key}: {shown(view.value)}{why}") + "\n")
        for effect in dict.fromkeys(find_option(view.key).effect for view in views):
            output.say(EFFECT_WORDS[effect])
    for note in saved.notes:
        output.say(note)
    for view in views:
        if view.option.unknown_to_hermes:
            output.say(f"{view.key}: {view.option.unknown_to_hermes}")


def _when(version: "Version") -> str:
    return datetime.fromtimestamp(version.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _version(version: "Version") -> dict[str, Any]:
    return {"number": version.number, "time": version.time, "name": version.name}
