"""Publish and subscribe: order, errors, leaving."""

import logging

import pytest

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Event, Notice, NoticeCleared

NOTICE = Notice("info", "Something happened.")


def test_each_class_has_its_subscribers() -> None:
    bus = EventBus()
    seen: list[Event] = []
    bus.subscribe(Notice, seen.append)
    bus.publish(NoticeCleared("x"))
    bus.publish(NOTICE)

    assert seen == [NOTICE]


def test_in_the_order_of_subscribing() -> None:
    bus = EventBus()
    seen: list[int] = []
    for number in range(5):
        bus.subscribe(Notice, lambda _, number=number: seen.append(number))
    bus.publish(NOTICE)

    assert seen == [0, 1, 2, 3, 4]


def test_one_that_fails_silences_nobody(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()
    seen: list[Event] = []

    def fail(_: Notice) -> None:
        raise RuntimeError("as if by mistake")

    bus.subscribe(Notice, fail)
    bus.subscribe(Notice, seen.append)
    with caplog.at_level(logging.ERROR):
        bus.publish(NOTICE)

    assert seen == [NOTICE]
    assert "as if by mistake" in caplog.text


def test_leaving_twice_is_harmless() -> None:
    bus = EventBus()
    seen: list[Event] = []
    leave = bus.subscribe(Notice, seen.append)
    bus.subscribe(Notice, seen.append)

    leave()
    leave()
    bus.publish(NOTICE)

    assert seen == [NOTICE]


def test_who_left_meanwhile_hears_nothing_more() -> None:
    bus = EventBus()
    seen: list[str] = []

    def first(_: Notice) -> None:
        seen.append("first")
        leave_second()

    bus.subscribe(Notice, first)
    leave_second = bus.subscribe(Notice, lambda _: seen.append("second"))
    bus.publish(NOTICE)

    assert seen == ["first"]


def test_who_comes_meanwhile_hears_the_next_one() -> None:
    bus = EventBus()
    seen: list[Event] = []

    def first(_: Notice) -> None:
        if not seen:
            bus.subscribe(Notice, seen.append)

    bus.subscribe(Notice, first)
    bus.publish(NOTICE)
    assert seen == []
    bus.publish(NOTICE)
    assert seen == [NOTICE]
