"""Messages about the outcome of a change of settings, for the strip above the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.ui.settings.fields.field_text import label_parts, plain
from hermes_desktop.ui.words.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hermes_desktop.gateway.config.config_changes import PlatformOutcome
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.services.settings.settings_service import Applied

_NAMED = 4


def title_words(applied: Applied) -> str:
    """Return one sentence that sums up what was saved."""
    count = len({change.key for change in applied.saved.changes})
    others = len(_keys(applied)) - count
    if not count and (others > 0 or applied.reconnected):
        return "Saved."
    if not count:
        return "No changes were needed; the files already have these values."
    return "1 setting was saved." if count == 1 else f"{count} settings were saved."


def detail_words(applied: Applied, views: Mapping[str, SettingView]) -> list[str]:
    """Return one sentence for each group of settings that says when the change takes effect."""
    return [plain(words) for words in _details(applied, views)]


def _details(applied: Applied, views: Mapping[str, SettingView]) -> Iterator[str]:
    if applied.at_once:
        yield f"In effect now: {names(applied.at_once, views)}."
    for outcome in applied.reconnected:
        yield _outcome_words(outcome)
    if applied.after_restart:
        yield f"Takes effect when the gateway restarts: {names(applied.after_restart, views)}."
    if applied.other_gateway:
        yield (
            "Takes effect when the other program that runs the gateway restarts: "
            f"{names(applied.other_gateway, views)}."
        )
    if applied.next_start:
        yield f"Takes effect when Hermes Desktop restarts: {names(applied.next_start, views)}."
    for checked in applied.checked:
        if checked.answer.kind == "unreachable":
            yield (
                f"{source_name(checked.platform)} could not be reached to check the token: "
                f"{checked.answer.words}"
            )
    if applied.trouble:
        yield f"The gateway keeps the previous settings: {applied.trouble}"
    yield from applied.saved.notes


def has_trouble(applied: Applied) -> bool:
    """Return whether any part of the change failed."""
    return bool(applied.trouble) or not all(each.ok for each in applied.reconnected)


def names(keys: Iterable[str], views: Mapping[str, SettingView]) -> str:
    """Return the display names of settings and variables, shortened to the first few."""
    listed = [name_of(key, views) for key in keys]
    more = len(listed) - _NAMED
    if more > 0:
        return f"{', '.join(listed[:_NAMED])} and {more} more"
    return ", ".join(listed)


def name_of(key: str, views: Mapping[str, SettingView]) -> str:
    """Return the display name of a setting or variable."""
    view = views.get(key)
    if view is None:
        secret = SECRETS.get(key)
        return key if secret is None else secret_words(secret.label, secret.platform)
    parts = label_parts(view.option)
    return ": ".join(filter(None, (parts.who, parts.what)))


def secret_words(label: str, platform: str) -> str:
    """Return the display name of a secret: ``Telegram bot token``."""
    _, colon, what = label.partition(": ")
    return f"{source_name(platform)} {what}" if colon and platform else label


def _outcome_words(outcome: PlatformOutcome) -> str:
    name = source_name(outcome.platform)
    if outcome.left:
        return f"{name} is disconnected."
    if outcome.ok:
        return f"{name} is connected with the new settings."
    return f"{name} could not be connected with the new settings. {outcome.words}".strip()


def _keys(applied: Applied) -> set[str]:
    return {
        *applied.at_once,
        *applied.after_restart,
        *applied.other_gateway,
        *applied.next_start,
    }
