"""Times and days as display text in the locale's format."""

from datetime import date, datetime

from PySide6.QtCore import QDate, QDateTime, QLocale, QTime

_SHORT = QLocale.FormatType.ShortFormat
_LONG = QLocale.FormatType.LongFormat


def clock_time(moment: datetime | None) -> str:
    """Return hours and minutes; "" for a missing time."""
    if moment is None:
        return ""
    time = QTime(moment.hour, moment.minute)
    locale = QLocale()
    if locale.language() == QLocale.Language.C:
        return time.toString("HH:mm")
    return locale.toString(time, _SHORT)


def full_time(moment: datetime | None) -> str:
    """Return day and time with seconds, for tool tips and screen readers."""
    if moment is None:
        return "at an unknown time"
    day = QDate(moment.year, moment.month, moment.day)
    time = QTime(moment.hour, moment.minute, moment.second)
    return QLocale().toString(QDateTime(day, time), "dddd, d MMMM yyyy, HH:mm:ss")


def day_text(day: date, today: date) -> str:
    """Return ``Today``, ``Yesterday``, else the day's name, with the year if it is another one."""
    age = (today - day).days
    if age in {0, 1}:
        return "Today" if age == 0 else "Yesterday"
    pattern = "dddd, d MMMM" if day.year == today.year else "d MMMM yyyy"
    return QLocale().toString(QDate(day.year, day.month, day.day), pattern)
