"""The search for settings by name, description, choices, and keys in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.ui.settings.fields.field_text import label_parts
from hermes_desktop.ui.settings.fields.page_names import ASSISTANT, PLATFORMS
from hermes_desktop.ui.settings.fields.parts import SettingHit
from hermes_desktop.ui.settings.page_table import entry_of, page_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.settings.options import Option


def find_settings(
    text: str, views: Iterable[SettingView], more: Iterable[SettingHit] = ()
) -> list[SettingHit]:
    """Return all settings that contain every word of a text, matches in the name first.

    Args:
        text: The text that the user typed.
        views: All settings.
        more: Hits of the parts of pages.
    """
    words = text.casefold().split()
    if not words:
        return []
    found = [*_hits(words, views), *_secrets(words)]
    known = {hit.key for hit in found}
    found += [hit for hit in more if hit.key not in known]
    return sorted(found, key=lambda hit: not _has(words, hit.label))


def _hits(words: Sequence[str], views: Iterable[SettingView]) -> Iterator[SettingHit]:
    for view in views:
        option = view.option
        page = page_of(option)
        if _has(words, _searched(option, entry_of(page).title)):
            parts = label_parts(option)
            label = ": ".join(filter(None, (parts.who, parts.what)))
            yield SettingHit(page, option.key, label)


def _secrets(words: Sequence[str]) -> Iterator[SettingHit]:
    for secret in SECRETS.values():
        page = PLATFORMS if secret.platform else ASSISTANT
        if _has(words, f"{secret.label} {secret.variable} {secret.section}"):
            yield SettingHit(page, secret.variable, secret.label[:1].upper() + secret.label[1:])


def _searched(option: Option, page: str) -> str:
    choices = (option.choices or {}).items()
    said = " ".join(f"{word} {meaning}" for word, meaning in choices)
    places = " ".join(place.key for place in option.all_places())
    variables = " ".join(option.variables)
    names = f"{option.label} {option.section} {page} {option.key} {places} {variables}"
    return f"{names} {option.help} {said}"


def _has(words: Sequence[str], text: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
