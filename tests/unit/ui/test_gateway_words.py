"""What is said about the gateway, its platforms and the time that passes."""

import pytest

from hermes_desktop.core.events import (
    GatewayStatusChanged,
    HostingRefusal,
    OtherGateway,
    PlatformHealth,
    TurnFinished,
    TurnQueued,
    TurnStarted,
    UndoneWork,
)
from hermes_desktop.gateway.access.pairing import PairedUser
from hermes_desktop.services.hosting.pairing_requests import PairingRequestView
from hermes_desktop.ui.gateway.gateway_commands import RunningReplies
from hermes_desktop.ui.gateway.gateway_protocols import Person
from hermes_desktop.ui.words.ages import format_ago, format_span, format_until, refresh_interval_ms
from hermes_desktop.ui.words.gateway_words import (
    allowed,
    attached_text,
    explained,
    listed,
    plain,
    refused_text,
    running_text,
    shape_of,
    status_text,
)
from hermes_desktop.ui.words.platform_words import STATES, brief, distances, for_strip, state_words
from hermes_desktop.ui.words.platform_words import explained as platform_explained
from hermes_desktop.ui.words.visible_text import is_right_to_left

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (0.9, "0 s"), (12, "12 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"),
     (47 * 3600, "47 h"), (49 * 3600, "2 days"), (10 * 86400, "10 days")],
)  # fmt: skip
def test_a_span_has_one_unit(seconds, words) -> None:
    assert format_span(seconds) == words


def test_clocks_that_differ_make_no_future() -> None:
    assert format_ago(-3) == "just now"
    assert format_ago(12.7) == "12 s ago"
    assert format_until(-3) == "now"
    assert format_until(25) == "in 25 s"


@pytest.mark.parametrize(
    ("distances", "pause"),
    [([], 0), ([3], 1000), ([-59], 1000), ([-61], 5000), ([-700], 30_000), ([-700, 20], 1000)],
)
def test_words_are_looked_at_as_often_as_they_change(distances, pause) -> None:
    assert refresh_interval_ms(distances) == pause


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (PlatformHealth("telegram", "connected", NOW - 12), "Telegram 12 s ago"),
        (PlatformHealth("telegram", "connected"), "Telegram connected"),
        (PlatformHealth("telegram", "silent", NOW - 300), "Telegram silent for 5 min"),
        (PlatformHealth("telegram", "silent"), "Telegram silent"),
        (
            PlatformHealth("matrix", "retrying", NOW - 90, next_try_at=NOW + 25),
            "Matrix tries again in 25 s",
        ),
        (PlatformHealth("matrix", "retrying"), "Matrix retrying"),
        (PlatformHealth("slack", "fatal", detail="No."), "Slack needs attention"),
        (PlatformHealth("signal", "paused", next_try_at=NOW + 9), "Signal paused"),
    ],
)
def test_a_platform_in_a_few_words(health, words) -> None:
    assert brief(health, NOW) == words


def test_what_needs_a_person_comes_first_and_what_is_off_not_at_all() -> None:
    states = ("connected", "unavailable", "fatal", "disabled", "paused")
    found = for_strip([PlatformHealth(f"p{n}", state) for n, state in enumerate(states)])
    assert [each.state for each in found] == ["fatal", "connected", "paused"]


def test_every_state_of_a_platform_is_explained_but_a_good_one() -> None:
    for state in STATES:
        health = PlatformHealth("telegram", state)
        assert state_words(health)
        assert bool(platform_explained(health)) == (state != "connected")
    why = platform_explained(PlatformHealth("irc", "unavailable", detail="No adapter."))
    assert why.startswith("No adapter. This version")


def test_distances_look_both_ways() -> None:
    health = PlatformHealth("matrix", "retrying", NOW - 90, next_try_at=NOW + 25)
    assert distances([health, PlatformHealth("x", "paused")], NOW) == [-90, 25]


@pytest.mark.parametrize(
    ("status", "shape", "words"),
    [
        (GatewayStatusChanged("stopped"), "stopped", "Gateway stopped"),
        (
            GatewayStatusChanged("stopping", "Waiting for 2 replies, 12 s left."),
            "connecting",
            "Gateway stopping: waiting for 2 replies, 12 s left",
        ),
        (
            GatewayStatusChanged("stopped", refusal=HostingRefusal("No.")),
            "attention",
            "Gateway not started",
        ),
        (
            GatewayStatusChanged("attached", running_turns=1),
            "attached",
            "Another gateway is running",
        ),
    ],
)
def test_a_state_in_shape_and_words(status, shape, words) -> None:
    assert (shape_of(status), status_text(status)) == (shape, words)


def test_what_may_be_done_is_never_two_opposites() -> None:
    for state in ("stopped", "starting", "running", "working", "degraded", "stopping", "attached"):
        may = allowed(GatewayStatusChanged(state))
        assert not (may.start and may.stop)
        assert not (may.take_over and (may.start or may.stop or may.restart))


def test_a_refusal_is_explained_without_marks_of_a_terminal() -> None:
    refusal = HostingRefusal("It was not started.", "Use `hermes gateway run`.")
    status = GatewayStatusChanged("stopped", "It was not started.", refusal=refusal)
    assert explained(status) == "It was not started. Use “hermes gateway run”."
    assert plain("no marks") == "no marks"


def test_what_nobody_can_help_needs_no_person() -> None:
    served = PlatformHealth("telegram", "connected")
    out = PlatformHealth("signal", "unavailable")
    without = GatewayStatusChanged("degraded", platforms=(out, served))
    assert shape_of(without) == "running"
    assert status_text(without) == "Gateway running, without Signal"
    assert explained(without) == (
        "Signal cannot be served by this version. The other platforms work."
    )
    troubled = GatewayStatusChanged(
        "degraded", platforms=(out, served, PlatformHealth("slack", "fatal"))
    )
    assert shape_of(troubled) == "attention"
    assert status_text(troubled) == "Gateway running, with a problem"
    assert explained(troubled).startswith("Slack does not work. Signal cannot be served")


def test_the_other_gateway_is_named_with_its_age() -> None:
    known = attached_text(OtherGateway("hermes gateway", 1, NOW - 3 * 3600 - 5), NOW)
    assert known.startswith("The hermes gateway (running for 3 h) serves this home.")
    unknown = attached_text(OtherGateway("another Hermes Desktop", 1), NOW)
    assert unknown.startswith("Another Hermes Desktop serves this home.")
    assert attached_text(None, NOW).startswith("Another gateway serves this home.")


def test_numbers_and_lists_read_as_sentences() -> None:
    assert running_text(1) == "1 reply is running"
    assert running_text(2) == "2 replies are running"
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b", "c", "d", "e"], most=3) == "a, b, c and 2 more"


def test_only_replies_to_platforms_are_stopped_with_the_gateway() -> None:
    replies = RunningReplies()
    long = "When does the train leave for Hamburg and what does it cost with a seat by the window?"
    replies.begun(TurnQueued("1", "agent:main:telegram:dm:7", "s1", long))
    replies.begun(TurnStarted("1", "agent:main:telegram:dm:7", "s1", long))
    replies.begun(TurnStarted("2", "agent:main:desktop:dm:s2", "s2", "Mine"))
    replies.begun(TurnStarted("3", "agent:main:matrix:group:9", "s3", "two\nlines"))
    assert replies.count == 2
    first, second = replies.lines()
    assert first.startswith("“When does the train")
    assert first.endswith("…” – Telegram")
    assert second == "“two lines” – Matrix"
    replies.finished(TurnFinished("1", "", "s1", None, "done"))
    replies.finished(TurnFinished("2", "", "s2", None, "done"))
    assert replies.count == 1


def test_names_that_strangers_choose_stay_one_short_line() -> None:
    def waiting(name: str) -> Person:
        return Person.waiting(PairingRequestView("telegram", "e1", "4711", name, 90.0), NOW)

    assert waiting("Anna\nSchmidt\u202e").name == "Anna Schmidt"
    assert waiting("").name == "4711"
    assert waiting("\u202e\u200b").name == "4711"
    assert len(waiting("x" * 500).name) == 60
    assert waiting("Anna").when == NOW - 90
    paired = Person.paired(PairedUser("telegram", "4711", "", 0.0))
    assert (paired.name, paired.when, paired.key) == ("4711", 0.0, ("telegram", "4711"))


@pytest.mark.parametrize(
    ("text", "rtl"), [("abc", False), ("3 s ago", False), ("12 שלום", True), ("مرحبا abc", True)]
)
def test_a_text_has_the_direction_of_its_letters(text, rtl) -> None:
    assert is_right_to_left(text) is rtl


def test_a_refusal_below_its_heading_says_only_why() -> None:
    because = HostingRefusal(
        "The gateway was not started, because some of its work would not run.", "B."
    )
    assert refused_text(because) == "Some of its work would not run. B."
    assert refused_text(HostingRefusal("The gateway was not started.", "B `c`.")) == "B “c”."
    assert refused_text(HostingRefusal("It failed.", "B.")) == "It failed. B."


def test_the_age_of_another_gateway_is_said_once() -> None:
    other = OtherGateway("hermes gateway", 4711, NOW - 3 * 3600)
    assert "running for" not in attached_text(other, None)


def test_what_is_not_run_stands_behind_the_state() -> None:
    undone = UndoneWork(2, 3, ("a", "b"), ("garden",), 1)
    running = GatewayStatusChanged("running", undone=undone)
    assert status_text(running) == "Gateway running (2 jobs and 3 cards not run)"
    assert shape_of(running) == "running"
    assert status_text(GatewayStatusChanged("stopping", undone=undone)) == "Gateway stopping"
