"""What a person does to the gateway: what is asked before, and what is said afterwards."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox, QLabel

from hermes_desktop.core.events import (
    GatewayStatusChanged,
    HostingRefusal,
    TurnFinished,
    TurnStarted,
)
from tests.fakes.scripted_gateway import OTHER, health
from tests.ui.gateway.conftest import GatewayStage, press

REFUSAL = HostingRefusal("Not everything would run.", "Look.", "", ("Messages of Signal",), True)
pytestmark = pytest.mark.asyncio


def words(question) -> str:
    return "\n".join(label.text() for label in question.findChildren(QLabel))


def cancel(question) -> None:
    box = question.findChild(QDialogButtonBox)
    press(box.button(QDialogButtonBox.StandardButton.Cancel))


def run_two_replies(stage: GatewayStage) -> None:
    for number in (1, 2):
        key = f"agent:main:telegram:dm:{number}"
        stage.bus.publish(TurnStarted(f"t{number}", key, f"s{number}", f"Question {number}?"))
    stage.gateway.say("working", running_turns=2, platforms=(health("telegram", ago=1),))


async def test_start_and_what_came_of_it(stage) -> None:
    stage.show()
    press(stage.page.card.buttons["start"])
    await stage.idle()
    assert stage.gateway.asked == ["start"]
    assert [n.title for n in stage.notices] == ["The gateway is running."]


async def test_a_second_click_does_nothing_while_the_first_is_at_work(stage) -> None:
    stage.show()
    stage.gateway.may_go.clear()
    start = stage.page.card.buttons["start"]
    press(start)
    await stage.until(lambda: not start.isEnabled())
    stage.view.commands.run("start")
    stage.gateway.may_go.set()
    await stage.idle()
    assert stage.gateway.asked == ["start"]


async def test_a_start_that_hangs_can_be_stopped(stage) -> None:
    stage.show()
    stage.gateway.may_go.clear()
    stage.gateway.status = GatewayStatusChanged("starting")
    stage.view.commands.run("start")
    await stage.until(lambda: stage.gateway.asked)
    stage.view.refresh()
    press(stage.page.card.buttons["stop"])
    await stage.until(lambda: len(stage.gateway.asked) == 2)
    stage.gateway.may_go.set()
    await stage.idle()
    assert stage.gateway.asked == ["start", "stop"]


async def test_stop_with_nothing_running_asks_nothing_and_can_be_taken_back(stage) -> None:
    stage.show()
    stage.gateway.say("running")
    press(stage.page.card.buttons["stop"])
    await stage.idle()
    notice = stage.notices[-1]
    assert notice.title.startswith("The gateway is stopped.")
    assert notice.action == "Start again"
    stage.view.act_on(notice.key)
    await stage.idle()
    assert stage.gateway.asked == ["stop", "start"]


async def test_stop_shows_the_replies_it_would_end_and_cancel_changes_nothing(stage) -> None:
    stage.show()
    run_two_replies(stage)
    press(stage.page.card.buttons["stop"])
    question = await stage.question()
    assert "Stop the gateway? 2 replies are running." in words(question)
    assert "• “Question 1?” – Telegram" in words(question)
    assert question.agree.text() == "Stop the gateway"
    QTest.keyClick(question, Qt.Key.Key_Return)
    await stage.idle()
    assert stage.gateway.asked == []
    press(stage.page.card.buttons["stop"])
    press((await stage.question()).agree)
    await stage.idle()
    assert stage.gateway.asked == ["stop"]


async def test_replies_that_ended_are_not_counted(stage) -> None:
    stage.show()
    run_two_replies(stage)
    for number in (1, 2):
        stage.bus.publish(TurnFinished(f"t{number}", "", "", None, "done"))
    press(stage.page.card.buttons["restart"])
    await stage.idle()
    assert stage.gateway.asked == ["restart"]
    assert "current settings" in stage.notices[-1].title


async def test_what_is_waited_for_can_be_interrupted(stage) -> None:
    stage.show()
    run_two_replies(stage)
    stage.gateway.say("stopping", detail="Waiting for 2 replies, 12 s left.")
    press(stage.page.card.buttons["hurry"])
    assert stage.gateway.asked == ["hurry"]


async def test_a_take_over_names_the_other_and_says_what_came_of_it(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("attached", other=OTHER)
    press(stage.view.banner.action)
    question = await stage.question()
    told = words(question)
    assert "Take over from the hermes gateway?" in told
    assert "process 4711, running for 3 h" in told
    assert "It serves Telegram, Matrix" in told
    stage.gateway.may_go.clear()
    press(question.agree)
    await stage.until(lambda: stage.gateway.asked)
    stage.gateway.say(detail="Waiting for the hermes gateway to stop.")
    assert stage.view.banner.words.text() == "Waiting for the hermes gateway to stop."
    stage.gateway.may_go.set()
    await stage.idle()
    assert stage.notices[-1].title.startswith("Hermes Desktop now answers messages")
    assert not stage.view.banner.isVisible()


async def test_waiting_for_the_other_one_can_be_given_up(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("attached", other=OTHER)
    stage.gateway.may_go.clear()
    stage.view.commands.run("take_over")
    press((await stage.question()).agree)
    await stage.until(lambda: stage.view.banner.action.text() == "Stop waiting")
    press(stage.view.banner.action)
    await stage.until(lambda: "stop" in stage.gateway.asked)
    stage.gateway.then["take_over"] = GatewayStatusChanged("attached", other=OTHER)
    stage.gateway.then["stop"] = GatewayStatusChanged("attached", other=OTHER)
    stage.gateway.may_go.set()
    await stage.idle()
    assert stage.notices[-1].title == "The gateway was not taken over."


async def test_one_that_does_not_go_is_told_with_what_to_do(stage) -> None:
    stage.show(page=False)
    refusal = HostingRefusal("It did not stop.", "It still runs.", "Use `hermes gateway stop`.")
    stage.gateway.say("attached", other=OTHER)
    stage.gateway.then["take_over"] = GatewayStatusChanged("attached", other=OTHER, refusal=refusal)
    stage.view.commands.run("take_over")
    press((await stage.question()).agree)
    await stage.idle()
    notice = stage.notices[-1]
    assert (notice.level, notice.title) == ("warning", "It did not stop.")
    assert notice.hint == "Use “hermes gateway stop”."


async def test_a_take_over_that_would_silence_something_asks_again(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("attached", other=OTHER)
    stage.gateway.then["take_over"] = GatewayStatusChanged("attached", other=OTHER, refusal=REFUSAL)
    stage.view.commands.run("take_over")
    press((await stage.question()).agree)
    await stage.until(lambda: stage.gateway.asked)
    second = await stage.question()
    await stage.until(lambda: "anyway" in words(stage.questions()[0]) if stage.questions() else 0)
    second = stage.questions()[0]
    assert "• Messages of Signal" in words(second)
    stage.gateway.then["take_over"] = GatewayStatusChanged("running")
    press(second.agree)
    await stage.idle()
    assert stage.gateway.asked == ["take_over", "take_over insisting"]


async def test_start_anyway_shows_what_would_stay_undone(stage) -> None:
    stage.show()
    stage.gateway.say("stopped", refusal=REFUSAL)
    press(stage.page.card.buttons["insist"])
    question = await stage.question()
    assert "• Messages of Signal" in words(question)
    cancel(question)
    await stage.idle()
    assert stage.gateway.asked == []
    press(stage.page.card.buttons["insist"])
    press((await stage.question()).agree)
    await stage.idle()
    assert stage.gateway.asked == ["start insisting"]


async def test_a_refused_start_is_the_banners_to_tell(stage) -> None:
    stage.show(page=False)
    stage.gateway.then["start"] = GatewayStatusChanged("stopped", refusal=REFUSAL)
    stage.view.commands.run("start")
    await stage.idle()
    assert stage.notices == []
    assert stage.view.banner.isVisible()


async def test_a_question_brings_a_hidden_window_forward(qtbot, stage) -> None:
    run_two_replies(stage)
    with qtbot.waitSignal(stage.view.window_wanted, timeout=60_000):
        stage.view.commands.run("stop")
        await stage.question()
    cancel(stage.questions()[0])
    await stage.idle()


async def test_platforms_are_asked_for_by_name(stage) -> None:
    stage.show()
    stage.gateway.say("running", platforms=(health("telegram", "fatal"),))
    press(stage.page.list.reconnect)
    press(stage.page.list.pause)
    await stage.until(lambda: len(stage.gateway.asked) == 2)
    stage.gateway.say("running", platforms=(health("telegram", "paused"),))
    press(stage.page.list.resume)
    await stage.until(lambda: len(stage.gateway.asked) == 3)
    assert stage.gateway.asked == ["reconnect telegram", "pause telegram", "resume telegram"]


async def test_a_start_that_comes_to_nothing_is_told(stage) -> None:
    stage.show()
    stage.gateway.then["start"] = GatewayStatusChanged("stopped")
    press(stage.page.card.buttons["start"])
    await stage.idle()
    assert [n.title for n in stage.notices] == ["The gateway was not started."]


async def test_the_offer_of_the_banner_starts_the_gateway(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("stopped", detail="The other gateway was stopped.", offers_start=True)
    press(stage.view.banner.action)
    await stage.idle()
    assert stage.gateway.asked == ["start"]
    assert not stage.view.banner.isVisible()
