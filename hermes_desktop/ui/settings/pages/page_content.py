"""The content of a page: its own parts around blocks generated from the declared options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_desktop.ui.settings.fields.options_part import OptionsPart
from hermes_desktop.ui.settings.page_table import SECTION_PAGES, SECTION_TITLES, page_of

if TYPE_CHECKING:
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
    from hermes_desktop.ui.settings.page_table import PageEntry


def make_parts(entry: PageEntry, context: SettingsContext) -> list[SettingsPart]:
    """Create all parts of a page, from top to bottom."""
    sections: dict[str, list[SettingView]] = {name: [] for name in SECTION_PAGES}
    for view in context.draft.views.values():
        section = view.option.section
        if page_of(view.option) == entry.name and section not in entry.shown_by_parts:
            sections.setdefault(section, []).append(view)
    generated = [
        OptionsPart(context, SECTION_TITLES.get(name, name), found)
        for name, found in sections.items()
        if found
    ]
    above = [make(context) for make in entry.above]
    return [*above, *generated, *(make(context) for make in entry.below)]
