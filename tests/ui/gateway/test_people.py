"""Who asks to be let in and who was: answered from the page, with the real files behind it."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from hermes_desktop.core.events import PairingChanged
from tests.fakes.scripted_gateway import OTHER, health
from tests.ui.gateway.conftest import GatewayStage, press

pytestmark = pytest.mark.asyncio


def ask(stage: GatewayStage, user: str, name: str, platform: str = "telegram") -> None:
    """Somebody writes to the bot for the first time, as the gateway notes it."""
    assert stage.store.request(platform, user, name).code
    stage.bus.publish(PairingChanged())


def waiting(stage: GatewayStage) -> list[str]:
    return [line.accessibleName() for line in stage.page.requests.lines]


def let_in(stage: GatewayStage) -> list[str]:
    return [line.accessibleName() for line in stage.page.people.lines]


async def test_requests_come_with_name_place_and_age(stage) -> None:
    stage.show()
    stage.view.begin()
    ask(stage, "1", "Anna\nSchmidt\u202e")
    await stage.until(lambda: waiting(stage))
    assert waiting(stage) == ["Anna Schmidt, Telegram · asked just now"]
    stage.clock.advance(180)
    stage.view.refresh()
    assert waiting(stage) == ["Anna Schmidt, Telegram · asked 3 min ago"]
    assert not stage.page.requests.nothing.isVisible()
    assert stage.page.people.nothing.isVisible()


async def test_approve_lets_in_and_undo_takes_it_back(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    ask(stage, "2", "Bob")
    await stage.until(lambda: len(waiting(stage)) == 2)
    first = stage.page.requests.lines[0]
    assert first.buttons[0].accessibleName() == "Approve Anna"
    press(first.buttons[0])
    await stage.until(lambda: let_in(stage))
    assert let_in(stage) == ["Anna, Telegram · approved just now"]
    assert stage.store.is_approved("telegram", "1")
    assert stage.window.focusWidget() is stage.page.requests.lines[0].buttons[0]
    notice = next(n for n in stage.notices if n.action == "Undo")
    assert notice.title == "Anna can now write to Hermes on Telegram."
    stage.view.act_on(notice.key)
    await stage.until(lambda: not let_in(stage))
    assert not stage.store.is_approved("telegram", "1")


async def test_deny_takes_the_request_away(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    await stage.until(lambda: waiting(stage))
    press(stage.page.requests.lines[0].buttons[1])
    await stage.until(lambda: not waiting(stage))
    assert not stage.store.is_approved("telegram", "1")
    await stage.until(lambda: stage.notices and "Access denied" in stage.notices[-1].title)


async def test_revoke_asks_first(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    stage.store.approve("telegram", stage.store.pending()[0].entry_id)
    stage.bus.publish(PairingChanged())
    await stage.until(lambda: let_in(stage))
    press(stage.page.people.lines[0].buttons[0])
    question = await stage.question()
    assert "Revoke Anna’s access on Telegram?" in [
        label.text() for label in question.findChildren(QLabel)
    ]
    question.reject()
    await stage.until(lambda: not stage.questions())
    assert stage.store.is_approved("telegram", "1")
    press(stage.page.people.lines[0].buttons[0])
    press((await stage.question()).agree)
    await stage.until(lambda: not let_in(stage))
    assert not stage.store.is_approved("telegram", "1")


async def test_a_request_that_is_gone_is_told_and_goes_from_the_page(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    await stage.until(lambda: waiting(stage))
    stage.store.deny("telegram", stage.store.pending()[0].entry_id)
    press(stage.page.requests.lines[0].buttons[0])
    await stage.until(lambda: not waiting(stage))
    assert [n.level for n in stage.notices if n.level == "error"] == ["error"]


async def test_a_hidden_window_is_told_once_and_the_tray_counts(stage) -> None:
    counted: list[int] = []
    stage.view.requests_changed.connect(counted.append)
    stage.view.begin()
    await stage.until(lambda: counted == [0])
    ask(stage, "1", "Anna")
    await stage.until(lambda: stage.told)
    stage.bus.publish(PairingChanged())
    await stage.until(lambda: len(counted) >= 3)
    assert stage.told == [
        ("Anna requests access", "They wrote to Hermes on Telegram for the first time.")
    ]
    assert counted[-1] == 1
    assert [n.title for n in stage.notices] == ["Anna requests access (Telegram)."]
    assert stage.notices[0].action == "Answer…"


async def test_in_sight_of_the_page_nothing_more_is_told(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    await stage.until(lambda: waiting(stage))
    assert stage.told == []
    assert stage.notices == []


async def test_the_notice_leads_to_the_page_and_goes_with_the_last_request(qtbot, stage) -> None:
    stage.show(page=False)
    ask(stage, "1", "Anna")
    await stage.until(lambda: stage.notices)
    with qtbot.waitSignal(stage.view.page_wanted, timeout=60_000):
        stage.view.act_on(stage.notices[0].key)
    stage.store.deny("telegram", stage.store.pending()[0].entry_id)
    stage.bus.publish(PairingChanged())
    await stage.until(lambda: not stage.notices)


async def test_a_request_that_became_void_goes_by_itself(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    await stage.until(lambda: waiting(stage))
    expiry = next(t for t in stage.view.pairing.findChildren(QTimer) if t.isActive())
    assert expiry.interval() == 3_602_000
    stage.clock.advance(3_601)
    expiry.timeout.emit()
    await stage.until(lambda: not waiting(stage))
    assert not expiry.isActive()


async def test_whom_another_gateway_lets_ask_is_seen_while_the_page_shows(stage) -> None:
    stage.gateway.say("attached", other=OTHER)
    stage.show()
    stage.view.begin()
    await stage.until(stage.page.requests.isVisible)
    assert stage.store.request("telegram", "1", "Anna").code  # nobody tells of it
    stage.view.timer.beat.emit()
    await stage.until(lambda: waiting(stage))


async def test_lines_that_stay_keep_their_widgets(stage) -> None:
    stage.show()
    ask(stage, "1", "Anna")
    await stage.until(lambda: waiting(stage))
    line = stage.page.requests.lines[0]
    ask(stage, "2", "Bob")
    await stage.until(lambda: len(waiting(stage)) == 2)
    assert stage.page.requests.lines[0] is line


async def test_tab_goes_through_the_page_in_the_order_it_is_read(qtbot, stage) -> None:
    stage.show()
    qtbot.waitUntil(stage.window.isActiveWindow, timeout=60_000)
    ask(stage, "1", "Anna")
    await stage.until(lambda: waiting(stage))
    stage.store.approve("telegram", stage.store.pending()[0].entry_id)
    ask(stage, "2", "Bob")
    await stage.until(lambda: let_in(stage) and waiting(stage))
    stage.gateway.say("running", platforms=(health("telegram", "silent", ago=90),))
    page = stage.page
    wanted = [
        page.card.buttons["stop"],
        page.card.buttons["restart"],
        page.list.table,
        page.list.reconnect,
        page.list.pause,
        *page.requests.lines[0].buttons,
        *page.people.lines[0].buttons,
        stage.strip.line,
    ]
    wanted[0].setFocus(Qt.FocusReason.TabFocusReason)
    visited = [stage.window.focusWidget()]
    for _ in wanted[1:]:
        QTest.keyClick(stage.window.focusWidget(), Qt.Key.Key_Tab)
        visited.append(stage.window.focusWidget())
    assert visited == wanted
