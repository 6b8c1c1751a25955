"""Dates and times as display text in the format of the locale, relative up to yesterday."""

from dataclasses import dataclass
from datetime import date, datetime

from PySide6.QtCore import QDate, QDateTime, QLocale, QTime

_SHORT_FORMAT = QLocale.FormatType.ShortFormat


def clock_time(moment: datetime | None) -> str:
    """Return hours and minutes; "" for a missing time."""
    if moment is None:
        return ""
    time = QTime(moment.hour, moment.minute)
    locale = QLocale()
    if locale.language() == QLocale.Language.C:
        return time.toString("HH:mm")
    return locale.toString(time, _SHORT_FORMAT)


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


def written_day(day: str) -> str:
    """Return a day given as ``YYYY-MM-DD`` as the locale writes it."""
    found = date.fromisoformat(day)
    return QLocale().toString(QDate(found.year, found.month, found.day), "d MMMM yyyy")


DAYS_BY_NAME = 7
"""Days back that get a separate heading; older ones are grouped by month."""
_FIRST_MOMENT, _LAST_MOMENT = -62_135_510_400.0, 253_402_214_400.0
"""A day after the start of year 1 and a day before the end of year 9999, in epoch seconds."""


@dataclass(frozen=True, slots=True)
class DateFormatter:
    """Formatter for dates and times, relative to one day.

    Attributes:
        today: The current local day.
        locale: Decides how dates are written.
    """

    today: QDate
    locale: QLocale

    def group(self, when: float) -> str:
        """Return the heading under which a moment is listed.

        Args:
            when: Epoch seconds.
        """
        day = _local(when).date()
        days_ago = day.daysTo(self.today)
        if days_ago <= 0:
            return "Today"
        if days_ago == 1:
            return "Yesterday"
        if days_ago < DAYS_BY_NAME:
            return self.locale.standaloneDayName(day.dayOfWeek())
        month = self.locale.standaloneMonthName(day.month())
        return month if day.year() == self.today.year() else f"{month} {day.year()}"

    def brief(self, when: float) -> str:
        """Return the time of a moment in the last days, or the day and month of an older one."""
        moment = _local(when)
        days_ago = moment.date().daysTo(self.today)
        if days_ago < DAYS_BY_NAME:
            return self.locale.toString(moment.time(), QLocale.FormatType.ShortFormat)
        return self.locale.toString(moment.date(), _day_and_month(self.locale))

    def alone(self, when: float) -> str:
        """Return the same as :meth:`brief`, but with the day's name, for lists without headings."""
        today = _local(when).date().daysTo(self.today) <= 0
        this_week = _local(when).date().daysTo(self.today) < DAYS_BY_NAME
        return self.group(when) if this_week and not today else self.brief(when)

    def spoken_short(self, when: float) -> str:
        """Return the time of a moment today, or the day and the time of an earlier one."""
        moment = _local(when)
        clock = self.locale.toString(moment.time(), QLocale.FormatType.ShortFormat)
        if moment.date() == self.today:
            return clock
        return f"{self.locale.toString(moment.date(), _day_and_month(self.locale))}, {clock}"

    def full(self, when: float) -> str:
        """Return the day and time in full, for tool tips and screen readers."""
        moment = _local(when)
        day = self.locale.toString(moment.date(), QLocale.FormatType.LongFormat)
        clock = self.locale.toString(moment.time(), QLocale.FormatType.ShortFormat)
        return f"{day}, {clock}"

    def spoken(self, when: float) -> str:
        """Return the same as :meth:`full`, but with "today" or "yesterday" where that applies."""
        group = self.group(when)
        if group in {"Today", "Yesterday"}:
            return f"{group.lower()} {self.brief(when)}"
        return self.full(when)


def words_for(now: float, locale: QLocale | None = None) -> DateFormatter:
    """Return a formatter relative to the day that contains ``now`` (epoch seconds)."""
    return DateFormatter(_local(now).date(), locale or QLocale())


def _local(when: float) -> QDateTime:
    """Return the local time of a moment, clamped to the range that has valid dates."""
    within = min(max(when, _FIRST_MOMENT), _LAST_MOMENT)
    return QDateTime.fromMSecsSinceEpoch(int(within * 1000))


def _day_and_month(locale: QLocale) -> str:
    month_first = locale.dateFormat(QLocale.FormatType.ShortFormat).lstrip("'").startswith("M")
    return "MMM d" if month_first else "d MMM"
