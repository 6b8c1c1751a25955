"""The terminal output of the command line; no other module writes to the terminal.

The content of a session is untrusted: control characters could move the cursor, rename the window
or answer for the user, and direction overrides could show a command reversed. All of it is
sanitized here, on terminals and in pipes alike (a pipe often ends in a terminal).

Records are shown as rows: a table on a terminal, tab-separated fields in a pipe.
"""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from hermes_desktop.core.errors import HermesError

_BIDI_CONTROLS = "\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(
    rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI_CONTROLS}\ud800-\udfff]",
)
_STYLE = r"\x1b\[[013]m"  # plain, bold and italic: the sequences that this program itself writes
_UNSAFE_OUTPUT = re.compile(rf"(?:{_STYLE})|({_UNSAFE.pattern})")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_DELETE = 0x7F
_FIRST_PRINTABLE = 0x20
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"
_REPLACEMENT = "\ufffd"


class OutputError(HermesError):
    """The result cannot be written."""


def neutralise(text: str) -> str:
    """Sanitize text of several lines: line ends and tabs stay, other controls become visible.

    A control character becomes its picture (ESC is shown as ␛); a direction override, a lone
    surrogate or a control of the second block becomes U+FFFD.
    """
    return _UNSAFE.sub(_picture, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Sanitize text for a single line: each run of blanks and line ends becomes one space."""
    return _UNSAFE.sub(_picture, _BLANKS.sub(" ", text)).strip()


def without_surrogates(text: str) -> str:
    """Replace surrogates, which cannot be stored or sent; they come from arguments not in UTF-8."""
    return _SURROGATES.sub(_REPLACEMENT, text)


def prepare_streams() -> None:
    """Prevent characters from failing the output, whatever encoding the locale specifies.

    A standard stream that the caller closed is opened on the null device: the first file that the
    program opens, such as the store, must not get its number.
    """
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return _is_tty(sys.stdout)


def is_error_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return _is_tty(sys.stderr)


def is_input_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return _is_tty(sys.stdin)


def bold(text: str) -> str:
    """Return the text in bold on a terminal that supports and wants colors, else unchanged."""
    plain = not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[1m{text}\x1b[0m"


def write(text: str) -> None:
    """Write to standard output; does nothing when that is closed.

    Of all escape sequences only bold, italic and plain pass, so that no command can forget to
    sanitize text.

    Raises:
        BrokenPipeError: The reader has closed the pipe.
        OutputError: The disk behind it is full, or a similar error.
    """
    if sys.stdout is not None:  # pythonw has none, nor does a caller that closed it
        with _said_in_words():
            sys.stdout.write(_UNSAFE_OUTPUT.sub(_pass_style, text))


def flush() -> None:
    """Flush the output; raises what :func:`write` does."""
    if sys.stdout is not None:
        with _said_in_words():
            sys.stdout.flush()


def write_json(objects: Iterable[Mapping[str, Any]]) -> None:
    """Write one array, one object per line, with the same values on every terminal."""
    everything_escaped = not _speaks_unicode(sys.stdout)
    lines = (json.dumps(item, ensure_ascii=everything_escaped) for item in objects)
    body = ",\n".join(_UNSAFE.sub(_json_escape, line) for line in lines)
    write(f"[\n{body}\n]\n" if body else "[]\n")


def write_json_lines(objects: Iterable[Mapping[str, Any]]) -> None:
    """Write one object per line, for programs and terminals alike."""
    everything_escaped = not _speaks_unicode(sys.stdout)
    for item in objects:
        line = json.dumps(item, ensure_ascii=everything_escaped)
        write(_UNSAFE.sub(_json_escape, line) + "\n")


def write_json_object(value: Mapping[str, Any]) -> None:
    """Write one object, indented for readability and equally valid for programs."""
    text = json.dumps(value, ensure_ascii=not _speaks_unicode(sys.stdout), indent=2)
    write(_UNSAFE.sub(_json_escape, text) + "\n")


def say(text: str) -> None:
    """Print a message on standard error, separate from the result."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(neutralise(text) + "\n")
        sys.stderr.flush()


def ask(text: str) -> None:
    """Write to standard error without ending the line: a question, or progress.

    Carriage returns pass, because progress overwrites itself.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(
            "\r".join(_UNSAFE_OUTPUT.sub(_pass_style, part) for part in text.split("\r"))
        )
        sys.stderr.flush()


class RewrittenLine:
    """A line on standard error that overwrites itself, such as a countdown.

    It remembers its text, so that a shorter text erases all of a longer one.
    """

    def __init__(self) -> None:
        self._line = ""

    def rewrite(self, line: str) -> None:
        """Replace the text of the line."""
        ask("\r" + line.ljust(len(self._line)))
        self._line = line

    def clear(self) -> None:
        """Empty the line."""
        if self._line:
            ask("\r" + " " * len(self._line) + "\r")
        self._line = ""

    def say(self, text: str) -> None:
        """Clear the line and write a permanent one in its place."""
        self.clear()
        say(one_line(text))


def show_error(error: HermesError) -> None:
    """Print the error's title, detail and hint: one line each."""
    lines = [error.title, *(f"  {part}" for part in (error.detail, error.hint) if part)]
    say("\n".join(line.replace("\n", "\n  ") for line in lines))


def discard_stdout() -> None:
    """Redirect a closed standard output, so that buffered text does not fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def _said_in_words() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise OutputError("The output cannot be written.", error.strerror or str(error)) from error


def _fill_closed_streams() -> None:
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def _pass_style(match: re.Match[str]) -> str:
    return match.group() if match.group(1) is None else _picture(match)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < _FIRST_PRINTABLE:
        return chr(_CONTROL_PICTURES + code)
    return _DELETE_PICTURE if code == _DELETE else _REPLACEMENT


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _speaks_unicode(stream: TextIO | None) -> bool:
    return ((stream and stream.encoding) or "").lower().replace("-", "").startswith("utf")


_COLUMN_GAP = 2
_LEAST_WIDTH = 10
_GOOD_WIDTH = 24
MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: Its heading.
        right: Aligned to the right, as for numbers.
        gives_way: It is truncated when the terminal is narrow; only the last column is.
        optional: It is omitted when the column that gives way would be truncated too much.
    """

    name: str
    right: bool = False
    gives_way: bool = False
    optional: bool = False


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 session`` and ``1,200 sessions``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def size(number: int) -> str:
    """Return a number of bytes in readable form."""
    for unit, bytes_each in (("GB", 1e9), ("MB", 1e6)):
        if number >= bytes_each / 10:
            return f"{number / bytes_each:,.1f} {unit}"
    return f"{number / 1e3:,.1f} kB"


def as_text(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> str:
    """Format rows for standard output: a table on a terminal, tab-separated elsewhere."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    if not is_terminal():
        return "".join("\t".join(row) + "\n" for row in cells)
    return _table(columns, cells)


def first_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> str:
    """Format rows as a preview: on a terminal, the first twenty and how many more there are."""
    if not is_terminal() or len(rows) <= MOST_SHOWN:
        return as_text(columns, rows)
    return as_text(columns, rows[:MOST_SHOWN]) + f"… and {len(rows) - MOST_SHOWN:,} more\n"


def _table(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> str:
    """Draw the table as wide as the terminal; columns that do not give way stay whole."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    widths = {
        place: max(cell_len(text) for text in (column.name, *(row[place] for row in cells)))
        for place, column in enumerate(columns)
    }
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _fit(columns, widths, console.width))
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _COLUMN_GAP, 0, 0))
    for place, width in widths.items():
        drawn.add_column(
            columns[place].name,
            no_wrap=True,
            overflow="ellipsis",
            width=width,
            justify="right" if columns[place].right else "left",
        )
    for row in cells:
        drawn.add_row(*(Text(row[place]) for place in widths))
    with console.capture() as captured:
        console.print(drawn)
    return captured.get()


def _fit(columns: Sequence[Column], widths: dict[int, int], terminal: int) -> int:
    """Omit columns and narrow the one that gives way; return the resulting total width."""
    for place in [place for place in widths if columns[place].gives_way]:
        wanted = widths.pop(place)
        for other in [other for other in widths if columns[other].optional]:
            if terminal - _total(widths) - _COLUMN_GAP >= min(wanted, _GOOD_WIDTH):
                break
            del widths[other]
        widths[place] = min(wanted, max(_LEAST_WIDTH, terminal - _total(widths) - _COLUMN_GAP))
    return _total(widths)


def _total(widths: dict[int, int]) -> int:
    return sum(width + _COLUMN_GAP for width in widths.values())
