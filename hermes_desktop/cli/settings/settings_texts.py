"""Descriptions of a setting: its value, its source, its meaning."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_desktop.services.settings.settings_reading import SettingView


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
        "label": option.label,
        "section": option.section,
        "kind": option.kind,
        "choices": list(option.choices or ()),
        "effect": option.effect.value,
        "hermes_reads_it": not option.unknown_to_hermes and option.store == "config",
        "known": True,
    }


def explanation(view: "SettingView") -> Iterator[str]:
    """Yield everything there is to know about a setting, line by line."""
    from hermes_desktop.settings.options import EFFECT_WORDS

    option = view.option
    yield f"{option.key} – {option.label}"
    yield option.help
    yield f"Now: {shown(view.value)} ({source_words(view)})."
    yield f"Default: {shown(option.default)}."
    if view.problem:
        yield f"The file holds {shown(view.stored)}: {view.problem}"
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
        yield f"{key} (line {line}) is in the file, too, but {nowhere}."
    if option.switched_on_by:
        sets = " or ".join(" with ".join(names) for names in option.switched_on_by)
        yield f"If the file does not set it, {sets} alone turns it on."
    if option.variables:
        order = "overrides" if option.variable_wins else "is used if it is not set in"
        yield f"The variable {' or '.join(option.variables)} {order} the file."
