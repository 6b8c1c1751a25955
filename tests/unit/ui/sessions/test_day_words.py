"""Dates as the list says them."""

from datetime import datetime

import pytest
from PySide6.QtCore import QDate, QLocale

from hermes_desktop.ui.words.day_words import DateFormatter

ENGLISH = QLocale(QLocale.Language.English, QLocale.Country.UnitedStates)
GERMAN = QLocale(QLocale.Language.German, QLocale.Country.Germany)
TODAY = QDate(2026, 11, 28)


def at(year: int, month: int, day: int, hour: int = 14, minute: int = 2) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=None).astimezone().timestamp()


@pytest.mark.parametrize(
    ("when", "group", "brief"),
    [
        (at(2026, 11, 28), "Today", "2:02 PM"),
        (at(2026, 11, 30), "Today", "2:02 PM"),
        (at(2026, 11, 27, 23, 59), "Yesterday", "11:59 PM"),
        (at(2026, 11, 24), "Tuesday", "2:02 PM"),
        (at(2026, 11, 20), "November", "Nov 20"),
        (at(2025, 11, 20), "November 2025", "Nov 20"),
    ],
)
def test_words_in_american_english(when, group, brief) -> None:
    words = DateFormatter(TODAY, ENGLISH)
    assert words.group(when) == group
    assert words.brief(when).replace("\u202f", " ") == brief


def test_other_locales_order_day_and_month_their_way() -> None:
    words = DateFormatter(TODAY, GERMAN)
    assert words.brief(at(2026, 11, 28)) == "14:02"
    assert words.brief(at(2026, 10, 3)) == "3 Okt."
    assert words.group(at(2026, 11, 24)) == "Dienstag"


@pytest.mark.parametrize(
    "when", [-1e308, -1e15, -62_135_596_801.0, 0.0, 253_402_300_800.0, 1e18, 1e308]
)
def test_moments_that_no_calendar_has_get_words_too(when) -> None:
    words = DateFormatter(TODAY, ENGLISH)
    assert words.group(when)
    assert words.brief(when)
    assert words.full(when).strip(", ")


def test_spoken_is_relative_up_to_yesterday() -> None:
    words = DateFormatter(TODAY, GERMAN)
    assert words.spoken(at(2026, 11, 27)) == "yesterday 14:02"
    assert words.spoken(at(2026, 3, 1)) == "Sonntag, 1. März 2026, 14:02"


def test_a_list_without_headings_names_the_day() -> None:
    words = DateFormatter(TODAY, GERMAN)
    assert words.alone(at(2026, 11, 28)) == "14:02"
    assert words.alone(at(2026, 11, 27)) == "Yesterday"
    assert words.alone(at(2026, 11, 24)) == "Dienstag"
    assert words.alone(at(2026, 10, 3)) == "3 Okt."
