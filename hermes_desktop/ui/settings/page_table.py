"""The pages of the settings, and the assignment of settings to pages.

To add something to a page: write a :class:`~hermes_desktop.ui.settings.fields.parts.SettingsPart`
and name its class in ``above`` or ``below`` of the page's entry. If it shows options itself, name
their sections in ``shown_by_parts``, so that they are not generated a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_desktop.ui.settings.fields.page_names import (
    ASSISTANT,
    GENERAL,
    OTHER,
    PLATFORMS,
    PRIVACY,
    SESSIONS,
)
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.settings.forgetting_part import RetentionPart
from hermes_desktop.ui.settings.model_part import ModelPart
from hermes_desktop.ui.settings.other_keys_part import OtherKeysPart
from hermes_desktop.ui.settings.platforms.platforms_part import PlatformsPart
from hermes_desktop.ui.settings.secrets.secrets_group import SecretsPart
from hermes_desktop.ui.settings.versions_part import VersionsPart

if TYPE_CHECKING:
    from hermes_desktop.settings.options import Option

PartMaker = Callable[[SettingsContext], SettingsPart]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page.

    Attributes:
        name: Identifies it in search hits and in the remembered state of the home.
        title: The display name.
        icon: Name of an icon of the window's own set.
        about: What is set there, one sentence.
        above: Parts before the generated ones.
        below: Parts after them.
        shown_by_parts: Sections whose options those parts show.
    """

    name: str
    title: str
    icon: str
    about: str
    above: tuple[PartMaker, ...] = ()
    below: tuple[PartMaker, ...] = ()
    shown_by_parts: frozenset[str] = frozenset()


PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        GENERAL,
        "General",
        "settings",
        "How the program starts, looks and tells you things.",
    ),
    PageEntry(
        ASSISTANT,
        "Assistant",
        "mark",
        "Which model answers, and how far it may go.",
        above=(ModelPart,),
    ),
    PageEntry(
        SESSIONS,
        "Sessions",
        "sessions",
        "When a chat begins a new session, and what is forgotten when.",
        above=(RetentionPart,),
    ),
    PageEntry(
        PLATFORMS,
        "Platforms",
        "platforms",
        "Where Hermes can be reached, with which token, and by whom.",
        above=(PlatformsPart,),
        shown_by_parts=frozenset({"Platforms", "Who can write", "Tools", "Groups"}),
    ),
    PageEntry(
        PRIVACY,
        "Privacy",
        "lock",
        "Where tokens and keys are kept, and what uses them.",
        above=(SecretsPart,),
    ),
    PageEntry(
        OTHER,
        "Other keys",
        "code",
        "What else stands in config.yaml, and its former versions.",
        above=(OtherKeysPart, VersionsPart),
    ),
)

SECTION_PAGES: Mapping[str, str] = {
    "Desktop program": GENERAL,
    "Notifications": GENERAL,
    "Model": ASSISTANT,
    "Long sessions": ASSISTANT,
    "Asking before something is done": ASSISTANT,
    "Tools": ASSISTANT,
    "Small work beside answering": ASSISTANT,
    "Replies": ASSISTANT,
    "Memory": ASSISTANT,
    "New sessions of chats": SESSIONS,
    "Stored sessions": SESSIONS,
    "Groups": SESSIONS,
    "Platforms": PLATFORMS,
    "Who can write": PLATFORMS,
}
"""The page of each section, in the order in which sections appear on it."""

SECTION_TITLES: Mapping[str, str] = {"Groups": "Groups and threads"}
"""Headings that replace the name of the section."""


def page_of(option: Option) -> str:
    """Return the page of a setting, with a default for sections that are not listed above."""
    if option.platform:
        return PLATFORMS
    found = SECTION_PAGES.get(option.section)
    if found is not None:
        return found
    return ASSISTANT if option.store == "config" else GENERAL


def entry_of(name: str) -> PageEntry:
    """Return the page of that name, the first one if there is none."""
    return next((entry for entry in PAGES if entry.name == name), PAGES[0])
