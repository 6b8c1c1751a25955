"""Which icon, tooltip and status line the tray shows."""

import pytest

from hermes_desktop.core.events import (
    GatewayStatusChanged,
    HostingRefusal,
    Notice,
    PlatformHealth,
)
from hermes_desktop.core.files.shipped_files import shipped_path
from hermes_desktop.ui.shell.tray import menu_label, tray_face

PROBLEM = Notice("error", "The database cannot be read.", key="db")


@pytest.mark.parametrize(
    ("state", "turns", "icon", "line"),
    [
        ("stopped", 0, "tray-stopped", "Gateway stopped"),
        ("starting", 0, "tray-connecting", "Gateway starting"),
        ("running", 0, "tray-running", "Gateway running"),
        ("working", 1, "tray-working", "Working on 1 reply"),
        ("working", 3, "tray-working", "Working on 3 replies"),
        ("stopping", 0, "tray-connecting", "Gateway stopping"),
        ("attached", 0, "tray-attached", "Another gateway is running"),
        ("degraded", 0, "tray-attention", "Gateway running, with a problem"),
        ("stopped", 1, "tray-working", "Working on 1 reply, gateway stopped"),
    ],
)
def test_each_state_has_its_face(state, turns, icon, line) -> None:
    face = tray_face(GatewayStatusChanged(state, running_turns=turns))
    assert (face.icon, face.status_line) == (icon, line)
    assert face.tooltip.lower() == f"hermes: {line}".lower()
    assert shipped_path("icons", f"{face.icon}.svg").is_file()


@pytest.mark.parametrize(
    ("state", "turns", "waiting", "line"),
    [
        ("working", 1, 1, "Waiting for your answer"),
        ("working", 3, 1, "Waiting for your answer, working on 2 replies"),
        ("working", 2, 2, "Waiting for 2 answers"),
        ("stopped", 1, 1, "Waiting for your answer, gateway stopped"),
    ],
)
def test_a_turn_that_waits_for_the_user_is_not_called_work(state, turns, waiting, line) -> None:
    status = GatewayStatusChanged(state, running_turns=turns, waiting_turns=waiting)
    face = tray_face(status, waiting=waiting)
    assert (face.icon, face.status_line) == ("tray-attention", line)
    assert face.tooltip.lower() == f"hermes: {line}".lower()


@pytest.mark.parametrize("state", ["running", "working", "stopped"])
def test_an_error_needs_a_person_whatever_the_gateway_does(state) -> None:
    face = tray_face(GatewayStatusChanged(state), PROBLEM)
    assert face.icon == "tray-attention"
    assert face.status_line == PROBLEM.title
    assert PROBLEM.title in face.tooltip


def test_the_tooltip_names_platforms_in_trouble_and_people_who_ask() -> None:
    platforms = (
        PlatformHealth("telegram", "silent"),
        PlatformHealth("slack", "fatal"),
        PlatformHealth("matrix", "connected"),
    )
    face = tray_face(GatewayStatusChanged("degraded", platforms=platforms), requests=1)
    assert face.tooltip.splitlines() == [
        "Hermes: gateway running, with a problem",
        "Telegram and Slack do not work",
        "1 person requests access",
    ]
    assert face.icon == "tray-attention"


def test_the_tooltip_says_why_a_person_may_want_to_start_it() -> None:
    words = "The other gateway was stopped. Run `it`."
    face = tray_face(GatewayStatusChanged("stopped", words, offers_start=True))
    assert face.tooltip.splitlines() == [
        "Hermes: gateway stopped",
        "The other gateway was stopped. Run “it”.",
    ]
    assert (face.icon, face.status_line) == ("tray-stopped", "Gateway stopped")


def test_a_refusal_needs_a_person() -> None:
    refused = GatewayStatusChanged("stopped", refusal=HostingRefusal("Not everything would run."))
    face = tray_face(refused)
    assert (face.icon, face.status_line) == ("tray-attention", "Gateway not started")


def test_shapes_differ_not_only_colours() -> None:
    names = ("running", "working", "attention", "stopped", "connecting", "attached")
    drawings = {shipped_path("icons", f"tray-{name}.svg").read_text() for name in names}
    assert len(drawings) == len(names)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Trip & plan", "Trip && plan"),
        ("two\nlines", "two lines"),
        ("", "Untitled session"),
        (None, "Untitled session"),
        ("x" * 100, "x" * 47 + "…"),
    ],
)
def test_titles_in_the_menu(text, label) -> None:
    assert menu_label(text or "") == label
