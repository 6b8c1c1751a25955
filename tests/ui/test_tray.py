"""The tray: present or not is asked, never assumed; its menu changes in place."""

import pytest
from PySide6.QtWidgets import QSystemTrayIcon

from hermes_desktop.core.events import GatewayStatusChanged, Notice, NoticeCleared
from hermes_desktop.ui.tray import Tray
from tests.fakes.session_pages import summary


class Host:
    """Stands for the desktop's tray: there or not."""

    def __init__(self, *, there: bool) -> None:
        self.there = there

    def __call__(self) -> bool:
        return self.there


@pytest.fixture
def host() -> Host:
    return Host(there=True)


@pytest.fixture
def tray(qapp, host):
    tray = Tray(tray_available=host)
    yield tray
    tray.close()
    tray.deleteLater()


def texts(tray: Tray) -> list[str]:
    return [action.text() for action in tray.menu.actions() if action.text()]


def test_menu_stands_in_a_fixed_order(tray) -> None:
    assert texts(tray) == ["Gateway stopped", "Show Hermes", "New chat", "Recent", "Quit"]
    assert not tray.menu.actions()[0].isEnabled()


def test_status_and_problems_change_the_face_in_place(tray) -> None:
    actions = tray.menu.actions()
    tray.show_status(GatewayStatusChanged("running"))
    assert (tray.face.icon, texts(tray)[0]) == ("tray-running", "Gateway running")
    tray.note_problem(Notice("info", "Nothing much", key="i"))
    assert tray.face.icon == "tray-running"
    tray.note_problem(Notice("error", "It broke.", key="e"))
    assert (tray.face.icon, texts(tray)[0]) == ("tray-attention", "It broke.")
    tray.note_settled(NoticeCleared("e"))
    assert tray.face.icon == "tray-running"
    assert tray.menu.actions() == actions


def test_five_recent_sessions_lead_to_them(qtbot, tray) -> None:
    recent = next(action.menu() for action in tray.menu.actions() if action.menu())
    assert not recent.isEnabled()
    rows = [summary(n, title=f"A & {n}") for n in range(8)]
    tray.show_recent(rows)
    shown = [action for action in recent.actions() if action.isVisible()]
    assert [action.text() for action in shown] == [f"A && {n}" for n in range(5)]
    with qtbot.waitSignal(tray.session_requested) as asked:
        shown[3].trigger()
    assert asked.args == [rows[3].id]
    tray.show_recent(rows[:2])
    assert sum(action.isVisible() for action in recent.actions()) == 2


def test_a_host_that_comes_late_gets_a_new_icon(qapp, host) -> None:
    host.there = False
    tray = Tray(tray_available=host)
    told: list[bool] = []
    tray.available_changed.connect(told.append)
    assert not tray.available
    assert tray.findChildren(QSystemTrayIcon) == []
    host.there = True
    tray.look()
    tray.look()
    icons = tray.findChildren(QSystemTrayIcon)
    assert len(icons) == 1
    assert icons[0].contextMenu() is tray.menu
    host.there = False
    tray.look()
    assert told == [True, False]
    tray.close()
    tray.deleteLater()


def test_actions_ask_and_do_nothing_themselves(qtbot, tray) -> None:
    by_text = {action.text(): action for action in tray.menu.actions()}
    for text, signal in (
        ("Show Hermes", tray.show_requested),
        ("New chat", tray.new_chat_requested),
        ("Quit", tray.quit_requested),
    ):
        with qtbot.waitSignal(signal):
            by_text[text].trigger()


def test_a_doubled_click_counts_once_and_the_menu_click_not_at_all(tray) -> None:
    toggled: list[bool] = []
    tray.toggle_requested.connect(lambda: toggled.append(True))
    icon = tray.findChildren(QSystemTrayIcon)[0]
    reasons = QSystemTrayIcon.ActivationReason
    for reason in (reasons.Context, reasons.Trigger, reasons.Trigger, reasons.DoubleClick):
        icon.activated.emit(reason)
    assert toggled == [True]
