"""The tray: present or not is asked, never assumed; its menu changes in place."""

import pytest
from PySide6.QtWidgets import QSystemTrayIcon

from hermes_desktop.core.events import GatewayStatusChanged, Notice, NoticeCleared, UndoneWork
from hermes_desktop.ui.shell.tray import Tray
from tests.fakes.scripted_gateway import OTHER
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
    assert texts(tray) == [
        "Gateway stopped", "Approvals are off", "Work not running…", "Show Hermes", "New chat",
        "Recent",
        "Start gateway", "Stop gateway…", "Restart gateway…", "Take over the gateway…",
        "Settings…", "Quit",
    ]  # fmt: skip
    assert not tray.menu.actions()[0].isEnabled()


def test_approvals_that_are_off_are_said(tray) -> None:
    action = next(each for each in tray.menu.actions() if each.text() == "Approvals are off")
    assert not action.isVisible()
    tray.show_approvals(True)
    assert action.isVisible()
    assert "Approvals are off" in tray.face.tooltip
    assert tray.face.icon == "tray-stopped"
    tray.show_approvals(False)
    assert not action.isVisible()
    assert "Approvals" not in tray.face.tooltip


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
    with qtbot.waitSignal(tray.session_requested, timeout=60_000) as asked:
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
        with qtbot.waitSignal(signal, timeout=60_000):
            by_text[text].trigger()


def test_a_doubled_click_counts_once_and_the_menu_click_not_at_all(tray) -> None:
    toggled: list[bool] = []
    tray.toggle_requested.connect(lambda: toggled.append(True))
    icon = tray.findChildren(QSystemTrayIcon)[0]
    reasons = QSystemTrayIcon.ActivationReason
    for reason in (reasons.Context, reasons.Trigger, reasons.Trigger, reasons.DoubleClick):
        icon.activated.emit(reason)
    assert toggled == [True]


def entries(tray: Tray) -> dict[str, tuple[bool, bool]]:
    """What can be done to the gateway: shown and enabled, by the words."""
    return {
        action.text(): (action.isVisible(), action.isEnabled())
        for action in tray.menu.actions()
        if "gateway" in action.text().lower() and action is not tray.menu.actions()[0]
    }


def test_the_gateway_can_be_asked_for_what_makes_sense_now(qtbot, tray) -> None:
    on, off, away = (True, True), (True, False), (False, False)
    assert list(entries(tray).values()) == [on, off, off, away]
    tray.show_status(GatewayStatusChanged("running"))
    assert list(entries(tray).values()) == [off, on, on, away]
    tray.show_status(GatewayStatusChanged("stopping"))
    assert list(entries(tray).values()) == [off, off, off, away]
    tray.show_status(GatewayStatusChanged("attached", other=OTHER))
    assert list(entries(tray).values()) == [off, off, off, (True, True)]
    assert tray.face.icon == "tray-attached"
    asked: list[str] = []
    tray.gateway_wanted.connect(asked.append)
    for action in tray.menu.actions():
        if action.text() in entries(tray):
            action.trigger()
    assert asked == ["take_over"]


def test_who_asks_to_be_let_in_needs_a_person(qtbot, tray) -> None:
    tray.show_status(GatewayStatusChanged("running"))
    tray.show_requests(2)
    assert tray.face.icon == "tray-attention"
    assert tray.face.tooltip == "Hermes: gateway running\n2 people request access"
    entry = next(a for a in tray.menu.actions() if "request access" in a.text())
    with qtbot.waitSignal(tray.platforms_wanted, timeout=60_000):
        entry.trigger()
    tray.show_requests(0)
    assert tray.face.icon == "tray-running"
    assert not entry.isVisible()


def test_a_notification_carries_no_markup_and_leads_to_the_platforms(qtbot, tray) -> None:
    tray.tell("Bob asks", "<b>Bob</b> & others")
    icon = tray.findChildren(QSystemTrayIcon)[0]
    with qtbot.waitSignal(tray.platforms_wanted, timeout=60_000):
        icon.messageClicked.emit()


def test_nothing_is_told_without_an_icon(qapp) -> None:
    tray = Tray(tray_available=Host(there=False))
    tray.tell("Bob asks", "in vain")
    tray.close()
    tray.deleteLater()


def test_what_is_not_run_stands_in_menu_and_tooltip_and_leads_to_the_page(qtbot, tray) -> None:
    undone = UndoneWork(1, 2, ("news",), ("garden",), 1)
    tray.show_status(GatewayStatusChanged("running", undone=undone))
    (entry,) = [each for each in tray.menu.actions() if each.text() == "Work not running…"]
    assert entry.isVisible()
    assert tray.face.tooltip == "Hermes: gateway running (1 job and 2 cards not run)"
    with qtbot.waitSignal(tray.platforms_wanted, timeout=60_000):
        entry.trigger()
    tray.show_status(GatewayStatusChanged("running"))
    assert not entry.isVisible()
    assert tray.face.tooltip == "Hermes: gateway running"
