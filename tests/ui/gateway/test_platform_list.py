"""The list of platforms: sorted, searched, driven by keys; rows change in place."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from hermes_desktop.ui.gateway.platform_list import PlatformList
from hermes_desktop.ui.gateway.platform_model import DETAIL, HEARD, NEXT, STATE
from tests.fakes.scripted_gateway import NOW, OTHER, SEVERAL, health


@pytest.fixture
def shown(qapp, theme):
    """The list in a window, with several platforms."""
    made = PlatformList(theme)
    made.resize(860, 500)
    made.show()
    made.show_platforms(SEVERAL, NOW, ours=True)
    yield made
    made.close()
    made.deleteLater()


def names(made: PlatformList) -> list[str]:
    model = made.table.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def choose(made: PlatformList, name: str) -> None:
    made.table.setCurrentIndex(made.table.model().index(names(made).index(name), 0))


def test_rows_tell_state_age_and_next_try(shown) -> None:
    model = shown.table.model()
    assert names(shown) == ["Discord", "E-mail", "Matrix", "Signal", "Slack", "Telegram"]
    cells = [str(model.index(0, column).data()) for column in range(model.columnCount())]
    assert cells == [
        "Discord", "Retrying", "6 min ago", "in 25 s", "The connection was reset.",
    ]  # fmt: skip
    spoken = model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == (
        "Discord, Retrying, last contact 6 min ago, next attempt in 25 s, The connection was reset."
    )


def test_sorted_by_state_trouble_comes_first(shown) -> None:
    shown.table.sortByColumn(STATE, Qt.SortOrder.AscendingOrder)
    assert names(shown)[:2] == ["Slack", "Discord"]
    assert names(shown)[-1] == "E-mail"
    shown.table.sortByColumn(HEARD, Qt.SortOrder.AscendingOrder)
    assert names(shown)[:2] == ["Matrix", "Telegram"]
    shown.table.sortByColumn(NEXT, Qt.SortOrder.AscendingOrder)
    assert names(shown)[0] == "Discord"


def test_search_looks_at_all_words(shown) -> None:
    shown.open_search()
    QTest.keyClicks(shown.search, "invalid")
    assert names(shown) == ["Slack"]
    assert shown.selected.name == "slack"
    QTest.keyClicks(shown.search, "x")
    assert names(shown) == []
    assert shown.detail.text() == "No platforms match."
    shown.search.clear()
    assert len(names(shown)) == len(SEVERAL)


def test_the_chosen_one_says_all_it_has_to_say(shown) -> None:
    choose(shown, "E-mail")
    assert shown.detail.text().startswith(
        "E-mail: This version of Hermes Desktop does not support it."
    )
    assert not shown.reconnect.isEnabled()
    assert not shown.pause.isEnabled()
    choose(shown, "Telegram")
    assert not shown.detail.isVisible()


def test_buttons_and_enter_ask_for_the_chosen_one(qtbot, shown) -> None:
    choose(shown, "Slack")
    with qtbot.waitSignal(shown.reconnect_wanted, timeout=60_000) as asked:
        shown.reconnect.click()
    assert asked.args == ["slack"]
    with qtbot.waitSignal(shown.pause_wanted, timeout=60_000):
        shown.pause.click()
    QTest.keyClick(shown.table, Qt.Key.Key_Up)
    assert shown.selected.name == "signal"
    assert shown.resume.isVisible()
    assert not shown.pause.isVisible()
    with qtbot.waitSignal(shown.resume_wanted, timeout=60_000) as asked:
        QTest.keyClick(shown.table, Qt.Key.Key_Return)
    assert asked.args == ["signal"]


def test_a_beat_of_the_clock_changes_only_cells_whose_words_change(shown) -> None:
    choose(shown, "Telegram")
    changed: list[tuple[int, int]] = []
    shown.table.model().dataChanged.connect(lambda a, b, _: changed.append((a.row(), b.column())))
    shown.show_platforms(SEVERAL, NOW + 0.2, ours=True)
    assert changed == [(0, NEXT)]
    shown.show_platforms(SEVERAL, NOW + 1, ours=True)
    assert (names(shown).index("Signal"), HEARD) not in changed
    assert shown.selected.name == "telegram"


def test_platforms_come_and_go_around_the_chosen_one(shown) -> None:
    choose(shown, "Matrix")
    fewer = [health("irc", "connecting"), SEVERAL[2], SEVERAL[5]]
    shown.show_platforms(fewer, NOW, ours=True)
    assert names(shown) == ["Irc", "Matrix", "Telegram"]
    assert shown.selected.name == "matrix"
    shown.show_platforms([SEVERAL[5]], NOW, ours=True)
    assert shown.selected.name == "telegram"
    shown.show_platforms([], NOW, ours=True)
    assert shown.selected is None


def test_those_of_another_gateway_are_only_looked_at(shown) -> None:
    shown.show_platforms(OTHER.platforms, NOW, ours=False)
    assert names(shown) == ["Matrix", "Telegram"]
    assert not shown.reconnect.isVisible()
    assert not shown.pause.isVisible()
    assert shown.table.isColumnHidden(HEARD)
    assert shown.table.isColumnHidden(DETAIL)


def test_the_search_field_comes_with_many_and_by_its_key(shown) -> None:
    assert shown.search.isVisible()
    shown.show_platforms(SEVERAL[:2], NOW, ours=True)
    assert not shown.search.isVisible()
    shown.open_search()
    assert shown.search.isVisible()


def test_the_menu_of_a_row_offers_the_same(qtbot, shown) -> None:
    choose(shown, "Slack")
    shown.table.menu_wanted.emit(shown.mapToGlobal(shown.rect().center()))
    menu = next(menu for menu in shown.findChildren(QMenu) if menu.isVisible())
    assert [a.text() for a in menu.actions()] == ["Reconnect now", "Pause"]
    menu.close()
