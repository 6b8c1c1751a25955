"""Strip, banner and page follow one state, and cost nothing while nobody looks."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest

from hermes_desktop.core.events import (
    GatewayStatusChanged,
    HostingRefusal,
    OtherGateway,
    UndoneWork,
)
from hermes_desktop.ui.gateway.status_strip import GatewayLineContent, fold
from hermes_desktop.ui.words.day_words import words_for
from tests.fakes.scripted_gateway import OTHER, SEVERAL, health

REFUSAL = HostingRefusal(
    "Not everything would run.", "See the list.", "Use `hermes gateway run`.",
    ("Messages of Signal",), may_insist=True,
)  # fmt: skip


def buttons(stage) -> dict[str, bool]:
    """What the card offers, and whether it can be pressed."""
    card = stage.page.card
    return {n: b.isEnabled() for n, b in card.buttons.items() if b.isVisible()}


def test_the_strip_tells_state_and_age_and_leads_to_the_page(qtbot, stage) -> None:
    stage.show(page=False)
    stage.gateway.say("running", platforms=(health("matrix", ago=3), health("telegram", ago=12)))
    assert stage.strip.text == "Gateway running · Matrix 3 s ago · Telegram 12 s ago"
    assert stage.strip.line.accessibleName() == stage.strip.text
    with qtbot.waitSignal(stage.view.page_wanted, timeout=60_000):
        stage.strip.line.setFocus()
        QTest.keyClick(stage.strip.line, Qt.Key.Key_Space)


def test_ages_grow_with_the_clock_only_while_the_window_shows(qtbot, stage) -> None:
    stage.gateway.say("running", platforms=(health("telegram", ago=12),))
    assert not stage.view.timer.running
    stage.show(page=False)
    assert stage.view.timer.running
    stage.clock.advance(3)
    with qtbot.waitSignal(stage.view.timer.beat, timeout=60_000):
        pass
    assert "Telegram 15 s ago" in stage.strip.text
    stage.view.set_visible(False)
    assert not stage.view.timer.running
    stage.clock.advance(100)
    stage.view.set_visible(True)
    assert "Telegram 1 min ago" in stage.strip.text


def test_nothing_beats_where_no_moment_is_told(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("stopped")
    assert not stage.view.timer.running


def test_what_does_not_fit_folds_to_a_number(qtbot, stage) -> None:
    words = GatewayLineContent(
        "running", "Gateway running", ("Telegram 12 s ago", "Matrix 3 s ago", "IRC")
    )
    metrics = QFontMetrics(stage.strip.line.font())

    def folded(text: str) -> str:
        return fold(words, metrics, metrics.horizontalAdvance(text))

    assert folded(words.whole) == words.whole
    assert folded("Gateway running · Telegram 12 s ago +2") == (
        "Gateway running · Telegram 12 s ago +2"
    )
    assert folded("Gateway running · 3 platforms") == "Gateway running · 3 platforms"
    assert folded("Gateway run").endswith("…")


def test_platforms_in_trouble_are_never_folded_away_first(stage) -> None:
    stage.gateway.say("degraded", platforms=SEVERAL)
    assert stage.strip.line.words.platforms[0] == "Slack needs attention"


@pytest.mark.parametrize(
    ("status", "offered"),
    [
        (GatewayStatusChanged("stopped"), {"start": True, "stop": False, "restart": False}),
        (GatewayStatusChanged("starting"), {"start": False, "stop": True, "restart": False}),
        (GatewayStatusChanged("running"), {"start": False, "stop": True, "restart": True}),
        (GatewayStatusChanged("attached", other=OTHER), {"take_over": True}),
        (GatewayStatusChanged("stopped", refusal=REFUSAL), {"insist": True}),
        (GatewayStatusChanged("stopping"), {"start": False, "stop": False, "restart": False}),
    ],
)
def test_the_card_offers_what_makes_sense(stage, status, offered) -> None:
    stage.show()
    stage.gateway.status = status
    stage.view.refresh()
    assert buttons(stage) == offered


def test_the_card_says_since_when_and_why(stage) -> None:
    started = stage.clock.time()
    stage.gateway.say("running", since=started)
    stage.clock.advance(600)
    stage.show()  # ten minutes later: what counts is the start, not the first look
    assert stage.page.card.since.text() == f"since {words_for(started).brief(started)}"
    stage.gateway.say("degraded", detail="Slack refused the token.", since=started)
    assert stage.page.card.why.text() == "Slack refused the token."
    stage.gateway.say("stopped", refusal=REFUSAL)
    card = stage.page.card
    assert card.since.text() == ""
    assert card.would_not_run.text() == "• Messages of Signal"
    assert card.hint.text() == "Use “hermes gateway run”."
    stage.gateway.say("attached", other=OTHER)
    assert card.since.text() == "for 3 h"
    assert not card.would_not_run.isVisible()


def test_a_start_on_another_day_is_told_with_its_day(stage) -> None:
    started = stage.clock.time()
    stage.gateway.say("running", since=started)
    stage.clock.advance(86_400)
    stage.show()
    since = stage.page.card.since.text()
    assert since.endswith(f", {words_for(started).brief(started)}")
    assert since != f"since {words_for(started).brief(started)}"


def test_the_banner_tells_of_the_other_gateway_until_it_is_closed(stage) -> None:
    stage.show(page=False)
    banner = stage.view.banner
    stage.gateway.say("attached", other=OTHER)
    assert banner.isVisible()
    assert banner.words.text().startswith("The hermes gateway (running for 3 h) serves this home.")
    assert banner.action.text() == "Take over…"
    banner.close_button.click()
    stage.gateway.say(running_turns=1)
    assert not banner.isVisible()
    stage.gateway.say("stopped")
    stage.gateway.say("attached", other=OTHER)
    assert banner.isVisible()


def test_the_banner_is_silent_where_the_page_says_the_same(stage) -> None:
    stage.show(page=True)
    stage.gateway.say("stopped", refusal=REFUSAL)
    assert not stage.view.banner.isVisible()
    stage.page.hide()
    stage.view.refresh()
    assert stage.view.banner.isVisible()
    assert stage.view.banner.action.text() == "Start anyway…"
    stage.gateway.say("stopped", refusal=HostingRefusal("A home that may only be read."))
    assert not stage.view.banner.action.isVisible()


def test_the_banner_offers_to_start_after_a_stop_elsewhere(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("stopped", detail="The other gateway was stopped.", offers_start=True)
    banner = stage.view.banner
    assert banner.isVisible()
    assert banner.words.text() == "The other gateway was stopped."
    assert banner.action.text() == "Start the gateway"
    stage.gateway.say("stopped", detail="")  # by the person
    assert not banner.isVisible()


UNDONE = UndoneWork(1, 2, ("news",), ("garden",), 1)


def test_what_is_not_run_stands_in_banner_strip_and_page_until_it_is_gone(stage) -> None:
    stage.show(page=False)
    stage.gateway.say("running")
    banner, card = stage.view.banner, stage.page.card
    assert not banner.isVisible()
    stage.gateway.say(undone=UNDONE)
    assert banner.isVisible()
    assert banner.words.text() == (
        "Not run here: 1 scheduled job (“news”) and 2 kanban cards (board “garden”)."
        " “hermes” expects a running gateway to do this, but Hermes Desktop cannot do it yet."
    )
    assert not banner.action.isVisible()
    assert stage.strip.text == "Gateway running (1 job and 2 cards not run)"
    banner.close_button.click()
    stage.gateway.say("working", running_turns=1, undone=UNDONE)
    assert not banner.isVisible()
    assert "not run" in stage.strip.text  # that stays, and so does the page
    stage.page.show()
    stage.view.refresh()
    heading, *lines = card.would_not_run.text().splitlines()
    assert heading.startswith("Not run here: 1 scheduled job and 2 kanban cards. “hermes” expects")
    assert lines == [
        "• Scheduled job “news”",
        "• Cards of the kanban board “garden”",
    ]
    assert "“hermes gateway run”" in card.hint.text()
    stage.page.hide()
    stage.gateway.say(undone=UndoneWork(2, 0, ("news", "more")))
    assert banner.isVisible()  # something else than what was closed
    stage.gateway.say(undone=None)
    assert not banner.isVisible()
    stage.page.show()
    stage.view.refresh()
    assert not card.would_not_run.isVisible()
    assert not card.hint.isVisible()
    assert stage.strip.text == "Working on 1 reply"


def test_what_another_hermes_desktop_does_not_run_stands_beside_it(stage) -> None:
    stage.show(page=False)
    other = OtherGateway("another Hermes Desktop", 4711)
    stage.gateway.say("attached", other=other, undone=UNDONE)
    words = stage.view.banner.words.text()
    assert words.startswith("Another Hermes Desktop serves this home.")
    assert "Not run here: 1 scheduled job" in words
    assert stage.view.banner.action.text() == "Take over…"


def test_a_hidden_window_tells_by_the_desktop_what_is_not_run(stage) -> None:
    stage.gateway.say("running")
    stage.gateway.say(undone=UNDONE)
    stage.gateway.say(running_turns=1)
    ((title, words),) = stage.told
    assert title == "Some scheduled work is not running"
    assert words.startswith("Not run here: 1 scheduled job (“news”)")
    stage.show(page=False)
    stage.gateway.say(undone=UndoneWork(2, 0, ("news", "more")))
    assert len(stage.told) == 1


def test_an_empty_list_says_whether_anybody_has_looked(stage) -> None:
    stage.show()
    empty = stage.page.empty
    stage.gateway.say("stopped")
    assert empty.title.text() == "Platforms appear here when the gateway is running."
    stage.gateway.say("running")
    assert empty.title.text() == "No messaging platform is set up."
    stage.gateway.say("running", platforms=(health("telegram", ago=1),))
    assert not empty.isVisible()
    stage.gateway.say("attached", other=OTHER)
    assert not empty.isVisible()
    assert stage.page.list.isVisible()


def test_the_focus_stays_in_the_page_when_what_had_it_goes(stage) -> None:
    stage.show()
    stage.gateway.say("running", platforms=(health("telegram", ago=1),))
    stage.page.focus_first()
    assert stage.window.focusWidget() is stage.page.list.table
    stage.gateway.say("stopped")
    assert stage.window.focusWidget() is stage.page.card.buttons["start"]


def test_esc_empties_the_search_before_it_leaves_the_page(stage) -> None:
    stage.show()
    stage.gateway.say("degraded", platforms=SEVERAL)
    stage.page.list.open_search()
    stage.page.list.search.setText("tele")
    assert stage.page.step_back()
    assert stage.page.list.search.text() == ""
    assert not stage.page.step_back()


def test_what_needs_a_person_is_told_to_the_rail(stage) -> None:
    needs: list[str] = []
    stage.view.need_changed.connect(needs.append)
    stage.gateway.say("running")
    stage.gateway.say("degraded", platforms=(health("slack", "fatal"),))
    stage.gateway.say("running")
    assert needs == ["", "Gateway running, with a problem", ""]
