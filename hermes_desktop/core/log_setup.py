"""Logging: a rotating file and a ring of recent lines, both without secrets."""

import collections
import io
import logging
import logging.handlers
import os
import re
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from hermes_desktop.core.files.atomic_files import make_private_folder, open_private
from hermes_desktop.core.processes.clean_environment import is_secret_name

_PATTERNS = (
    re.compile(r"\b(sk-[A-Za-z0-9_-]{4})[A-Za-z0-9_-]{4,}"),
    re.compile(r"\b([rs]k_(?:live|test)_[A-Za-z0-9]{2})[A-Za-z0-9]{8,}"),
    re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{2})[A-Za-z0-9]{8,}"),
    re.compile(r"\b(xox[abprs]-[A-Za-z0-9]{2})[A-Za-z0-9-]{6,}"),
    re.compile(r"\b(hf_[A-Za-z0-9]{2})[A-Za-z0-9]{8,}"),
    re.compile(r"\b(glpat-[A-Za-z0-9]{2})[A-Za-z0-9_-]{8,}"),
    re.compile(r"(?i)\b(bearer\s+[A-Za-z0-9_-]{2})[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"\b(\d{6,}:[A-Za-z0-9_-]{4})[A-Za-z0-9_-]{20,}"),
    re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)"),
)
SHORTEST = 6
_SHORTEST_NAMED = 8


class SecretRedactor:
    """A filter that removes secrets from text: those with known patterns, and registered values."""

    def __init__(self) -> None:
        # Replaced, never mutated: log records are formatted on other threads.
        self._values: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The registered values."""
        return self._values

    def learn(self, value: str | None) -> None:
        """Register a value to be removed (under 6 characters it would match ordinary words)."""
        if value and len(value) >= SHORTEST and value not in self._values:
            # Longest first: one secret may be a prefix of another.
            self._values = tuple(sorted((*self._values, value), key=len, reverse=True))

    def clean(self, text: str) -> str:
        """Return the text with each secret replaced by a mark."""
        text = self.clean_known(text)
        for pattern in _PATTERNS:
            text = pattern.sub(r"\1…[secret]", text)
        return text

    def clean_known(self, text: str) -> str:
        """Return the text with each registered value replaced by a mark; patterns stay."""
        for value in self._values:
            text = text.replace(value, "[secret]")
        return text

    def settled(self, text: str) -> int:
        """Return up to where a growing text can be cleaned.

        What follows may be the beginning of a registered value.
        """
        values = self._values
        end = len(text) - max((_begun(text, value) for value in values), default=0)
        for value in values:  # a whole value is not cut in two
            at = text.find(value, max(end - len(value) + 1, 0))
            if 0 <= at < end < at + len(value):
                end = at + len(value)
        return end


def _begun(text: str, value: str) -> int:
    """Return how many characters at the end of a text are the beginning of a value."""
    tail = text[-(len(value) - 1) :]
    at = tail.find(value[0])
    while at >= 0 and not value.startswith(tail[at:]):
        at = tail.find(value[0], at + 1)
    return len(tail) - at if at >= 0 else 0


def learn_named(values: Mapping[str, str], redactor: SecretRedactor) -> None:
    """Register the values of variables whose names indicate a secret.

    Paths and values shorter than eight characters would match ordinary words.
    """
    for name, value in values.items():
        if is_secret_name(name) and len(value) >= _SHORTEST_NAMED and not value.startswith("/"):
            redactor.learn(value)


class RedactingFormatter(logging.Formatter):
    """A formatter that redacts the formatted record, traceback included."""

    def __init__(self, redactor: SecretRedactor) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self._redactor = redactor

    @override
    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.clean(super().format(record))


class RecentLines(logging.Handler):
    """A handler that keeps the last lines in memory for the health page."""

    def __init__(self, size: int = 500) -> None:
        super().__init__()
        self.lines: collections.deque[str] = collections.deque(maxlen=size)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.lines.append(self.format(record))
        except Exception:  # noqa: BLE001 - a bad record must not stop the code that logs it
            self.handleError(record)


class LogFile(logging.handlers.RotatingFileHandler):
    """The log file (0600). Write errors are ignored, and the program continues."""

    @override
    def _open(self) -> io.TextIOWrapper:
        descriptor = open_private(Path(self.baseFilename), os.O_WRONLY | os.O_APPEND)
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), self.encoding, self.errors)

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the error: the ring has the line, and standard error belongs to the user."""


def set_up_logging(
    redactor: SecretRedactor, *, log_file: Path | None = None, level: int = logging.INFO
) -> RecentLines:
    """Send the package's log records to a file (5 files of 2 MB) and to a ring in memory.

    A file that cannot be opened (read-only home, full disk) is skipped; the ring still works.

    Returns:
        The handler with the recent lines.
    """
    logger = logging.getLogger("hermes_desktop")
    logger.setLevel(level)
    for handler in tuple(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    formatter = RedactingFormatter(redactor)
    ring = RecentLines()
    handlers: list[logging.Handler] = [ring]
    if log_file is not None:
        try:
            make_private_folder(log_file.parent)
            handlers.append(
                LogFile(log_file, maxBytes=2_000_000, backupCount=4, encoding="utf-8", delay=True)
            )
        except OSError as error:
            ring.lines.append(f"No log file: {error}")
    for handler in handlers:
        handler.setFormatter(formatter)
        logger.addHandler(handler)
    return ring
