"""The pages of the settings, and the assignment of settings to pages.

To add something to a page: write a :class:`~hermes_desktop.ui.settings.fields.parts.SettingsPart`
and name its class in ``above`` or ``below`` of the page's entry. If it shows options itself, name
their sections in ``shown_by_parts``, so that they are not generated a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermes_desktop.ui.settings.fields.parts import (
    ASSISTANT,
    GENERAL,
    OTHER,
    PLATFORMS,
    PRIVACY,
    SESSIONS,
    SettingsContext,
    SettingsPart,
)
from hermes_desktop.ui.settings.forgetting_part import RetentionPart
from hermes_desktop.ui.settings.model_part import ModelPart
from hermes_desktop.ui.settings.other_keys_part import OtherKeysPart
from hermes_desktop.ui.settings.platforms.platforms_part import PlatformsPart
from hermes_desktop.ui.settings.sandbox_part import SandboxPart
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
        before: Parts directly before the generated one of a section, by its name.
        shown_by_parts: Sections whose options those parts show.
    """

    name: str
    title: str
    icon: str
    about: str
    above: tuple[PartMaker, ...] = ()
    below: tuple[PartMaker, ...] = ()
    before: Mapping[str, PartMaker] = field(default_factory=dict)
    shown_by_parts: frozenset[str] = frozenset()


PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        GENERAL,
        "General",
        "settings",
        "How Hermes starts, looks and notifies you.",
    ),
    PageEntry(
        ASSISTANT,
        "Assistant",
        "mark",
        "Which model answers, and what it may do.",
        above=(ModelPart,),
        before={"Approvals and questions": SandboxPart},
    ),
    PageEntry(
        SESSIONS,
        "Sessions",
        "sessions",
        "When chats start new sessions, and when old sessions are deleted.",
        above=(RetentionPart,),
    ),
    PageEntry(
        PLATFORMS,
        "Platforms",
        "platforms",
        "Where people can reach Hermes, and who can write.",
        above=(PlatformsPart,),
        shown_by_parts=frozenset({"Platforms", "Who can write", "Tools", "Groups"}),
    ),
    PageEntry(
        PRIVACY,
        "Privacy",
        "lock",
        "Where your tokens and keys are stored, and what uses them.",
        above=(SecretsPart,),
    ),
    PageEntry(
        OTHER,
        "Other keys",
        "code",
        "Other keys in config.yaml, and its earlier versions.",
        above=(OtherKeysPart, VersionsPart),
    ),
)

SECTION_PAGES: Mapping[str, str] = {
    "Desktop program": GENERAL,
    "Notifications": GENERAL,
    "Model": ASSISTANT,
    "Long sessions": ASSISTANT,
    "Approvals and questions": ASSISTANT,
    "Tools": ASSISTANT,
    "Auxiliary tasks": ASSISTANT,
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
