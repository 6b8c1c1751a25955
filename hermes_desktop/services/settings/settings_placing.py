"""Placement of a changed setting in a file: where it is, beside its siblings, or at the top."""

from collections.abc import Mapping
from typing import Any

from hermes_desktop.services.settings.settings_reading import (
    Layers,
    deciding_place,
    path_in,
    visible_places,
)
from hermes_desktop.settings.config_patch import Edit, value_at
from hermes_desktop.settings.options import Option, Place


def edits_for(
    option: Option, value: Any, layers: Layers, options: Mapping[str, Option], *, unset: bool
) -> list[Edit]:
    """Return the edits that a change of a setting requires in its file.

    Args:
        option: The setting.
        value: The new value.
        layers: The current content of all files.
        options: All settings: a new value is placed where this user keeps its siblings.
        unset: Remove the setting instead, wherever it occurs.
    """
    data = layers.file_of(option)
    if unset:
        return [
            Edit(path, remove=True)
            for path in (*(path_in(option, p) for p in option.all_places()), option.shorthand)
            if path and _stands_alone(option, path, data)
        ]
    place = _place_to_write(option, data, options)
    path = path_in(option, place)
    # A scalar in place of the group: `model: gpt-5`.
    group = next((o for o in options.values() if o.shorthand and o.shorthand == path[:-1]), None)
    if group is not None:
        present, single = value_at(data, group.shorthand)
        if present and isinstance(single, str) and single:
            first = group.all_places()[0].path[-1]
            return [Edit(group.shorthand, {first: single, path[-1]: value})]
    return [Edit(path, value)]


def _stands_alone(option: Option, path: tuple[str, ...], data: Mapping[str, Any]) -> bool:
    present, value = value_at(data, path)
    return present and (path != option.shorthand or isinstance(value, str))


def _place_to_write(
    option: Option, data: Mapping[str, Any], options: Mapping[str, Option]
) -> Place:
    """Return the current place; else one beside its siblings; else the default place."""
    found, is_set, _ = deciding_place(option, data)
    if found is not None and (is_set or not found.only_found):
        return found
    places = [place for place in visible_places(option, data) if not place.only_found]
    for place in places:
        present, parent = value_at(data, path_in(option, place)[:-1])
        if len(place.path) > 1 and present and isinstance(parent, Mapping) and parent:
            inside_gateway = place.path[:-1] == ("gateway",)
            if not inside_gateway or _siblings_inside(data, options):
                return place
    inner = next((place for place in places if place.path[0] == "gateway"), None)
    if inner is not None and _siblings_inside(data, options):
        return inner
    return places[0]


def _siblings_inside(data: Mapping[str, Any], options: Mapping[str, Option]) -> bool:
    """Return whether this user keeps the gateway's settings inside ``gateway:``."""
    inner = data.get("gateway")
    names = {
        place.path[1]
        for option in options.values()
        for place in option.all_places()
        if place.path[0] == "gateway"
    }
    inside = names & set(inner) if isinstance(inner, Mapping) else set()
    return bool(inside) and not names & set(data)
