"""Every page of the settings by Tab alone, and by ear: nothing is left out, nothing is nameless."""

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QScrollArea, QWidget

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository
from hermes_desktop.ui.settings.fields.options_part import ResetRuleSection
from hermes_desktop.ui.settings.page_table import PAGES
from hermes_desktop.ui.settings.settings_view import SettingsView
from hermes_desktop.ui.widgets.theme import ColorScheme
from tests.ui.settings_platforms.conftest import GOOD, TOKEN, PlatformsStage

pytestmark = pytest.mark.asyncio

PAGE_NAMES = [entry.name for entry in PAGES]
DAYS = "session_store_max_age_days"


@pytest.fixture
def full(stage: PlatformsStage) -> PlatformsStage:
    """A home in which every page has something to show."""
    stage.kept(**{TOKEN: GOOD})
    stage.env_file(OPENAI_API_KEY="sk-in-the-file-0123456789")
    stage.more = (
        "      noise: 1\ntelegram:\n  allow_from: ['4711']\nmine: 1\nmine: 2\nagent:\n"
        "  max_turns: 90000\nreset_by_platform:\n  telegram:\n    mode: daily\n"
    )
    return stage


def add_people(stage: PlatformsStage) -> None:
    store = PairingStore(stage.home, SystemClock())
    store.request("telegram", "1", "Anna")
    store.request("telegram", "2", "Bob")
    store.approve("telegram", store.pending()[0].entry_id)
    stage.bus.publish(PairingChanged())


async def open_page(stage: PlatformsStage, name: str) -> SettingsView:
    """One page with all that can be unfolded, and the bar of changes below."""
    view = stage.view
    view.show_page(name)
    view.stack.column(name).settle()
    if name == "platforms":
        card = await stage.card()
        await stage.until(lambda: card.people is not None and card.people.requests.lines)
    if name == "privacy":
        await stage.until(lambda: stage.group.order.rowCount() > 1)
        stage.group.table.choose(0)
    if name == "sessions":
        for fold in view.findChildren(ResetRuleSection):
            assert fold.box.accessibleName() or fold.box.text()
    view.draft.give(DAYS, "45")
    await stage.until(view.bar.isVisible)
    await stage.until(lambda: not view.controller.busy)
    return view


def reachable(view: QWidget) -> list[QWidget]:
    """What a person can go to by Tab, as Qt sees it, not as our layouts list it."""
    return [
        each for each in view.findChildren(QWidget)
        if each.focusPolicy() & Qt.FocusPolicy.TabFocus
        and each.isVisibleTo(view) and each.isEnabled()
        and not isinstance(each.parentWidget(), QAbstractScrollArea)
    ]  # fmt: skip


def heard(widget: QWidget) -> str:
    """The name that a screen reader is told."""
    spoken = QAccessible.queryAccessibleInterface(widget)
    return str(spoken.text(QAccessible.Text.Name)) if spoken is not None else ""


def walk(view: SettingsView, key: Qt.Key, start: QWidget, most: int) -> list[QWidget]:
    """Press Tab (or Shift+Tab) until the walk is back where it began."""
    start.setFocus()
    walked = [start]
    for _ in range(most):
        QTest.keyClick(view.focusWidget(), key)
        if view.focusWidget() is start:
            return walked
        walked.append(view.focusWidget())
    pytest.fail(f"a trap: {[heard(each) for each in walked[-3:]]}")


def is_seen(widget: QWidget) -> bool:
    seen = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    return not seen.visibleRegion().isEmpty()


def top(view: SettingsView, widget: QWidget) -> int:
    page = view.stack.currentWidget()
    assert isinstance(page, QScrollArea)
    return widget.mapTo(page.widget(), widget.rect().topLeft()).y()


@pytest.mark.parametrize("name", PAGE_NAMES)
async def test_tab_reaches_everything_and_everything_has_a_name(
    full: PlatformsStage, name: str
) -> None:
    async with full as stage:
        add_people(stage)
        view = await open_page(stage, name)
        wanted = reachable(view)
        assert len(wanted) > 5
        nameless = [repr(each) for each in wanted if not heard(each).strip()]
        assert not nameless
        assert not [heard(each) for each in wanted if re.search(r"\b(None|\{\w*\})", heard(each))]
        forth = walk(view, Qt.Key.Key_Tab, view.search, len(wanted) + 5)
        assert set(forth) == set(wanted)
        assert len(forth) == len(wanted)
        back = walk(view, Qt.Key.Key_Backtab, view.search, len(wanted) + 5)
        assert back[1:] == forth[:0:-1]


@pytest.mark.parametrize("name", PAGE_NAMES)
async def test_tab_goes_downwards_and_the_page_follows(full: PlatformsStage, name: str) -> None:
    async with full as stage:
        add_people(stage)
        view = await open_page(stage, name)
        view.resize(672, 452)
        forth = walk(view, Qt.Key.Key_Tab, view.search, 300)
        inside = [each for each in forth if view.stack.isAncestorOf(each)]
        heights = [top(view, each) + each.height() for each in inside]
        jumps = [
            (heard(inside[at]), heard(inside[at + 1]))
            for at in range(len(inside) - 1)
            if heights[at + 1] < heights[at] - inside[at].height()
        ]
        assert not jumps
        view.search.setFocus()
        for expected in forth[1:]:
            QTest.keyClick(view.focusWidget(), Qt.Key.Key_Tab)
            assert view.focusWidget() is expected
            await stage.until(lambda at=expected: is_seen(at))


async def test_former_versions_are_reached_too(full: PlatformsStage) -> None:
    async with full as stage:
        SettingsRepository(stage.paths, {}, SystemClock()).save([Change(DAYS, 31)])
        view = await open_page(stage, "other")
        tables = [each for each in reachable(view) if "ersion" in heard(each)]
        await stage.until(lambda: [each for each in reachable(view) if "ersion" in heard(each)])
        tables = [each for each in reachable(view) if "ersion" in heard(each)]
        walked = walk(view, Qt.Key.Key_Tab, view.search, 100)
        assert set(tables) <= set(walked)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGE_NAMES)
async def test_the_focus_is_seen_wherever_it_is(
    full: PlatformsStage, name: str, scheme: ColorScheme
) -> None:
    full.theme.set_scheme(scheme)
    async with full as stage:
        add_people(stage)
        view = await open_page(stage, name)
        view.activateWindow()
        await stage.until(view.isActiveWindow)
        unseen = [heard(each) for each in reachable(view) if not shows_focus(view, each)]
        assert not unseen


def shows_focus(view: SettingsView, widget: QWidget) -> bool:
    """Whether a widget looks different while the keyboard is there."""
    other = view.list if widget is not view.list else view.search
    pictures = []
    for each in (other, widget):
        each.setFocus(Qt.FocusReason.TabFocusReason)
        view.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)  # as a press of Tab does
        pictures.append(widget.grab().toImage())
    return bool(pictures[0] != pictures[1])
