"""Records as rows: a table on a terminal, tab-separated fields in a pipe."""

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.cli import output

_GAP = 2
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
    cells = [[output.one_line(str(cell)) for cell in row] for row in rows]
    if not output.is_terminal():
        return "".join("\t".join(row) + "\n" for row in cells)
    return _table(columns, cells)


def first_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> str:
    """Format rows as a preview: on a terminal, the first twenty and how many more there are."""
    if not output.is_terminal() or len(rows) <= MOST_SHOWN:
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
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
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
            if terminal - _total(widths) - _GAP >= min(wanted, _GOOD_WIDTH):
                break
            del widths[other]
        widths[place] = min(wanted, max(_LEAST_WIDTH, terminal - _total(widths) - _GAP))
    return _total(widths)


def _total(widths: dict[int, int]) -> int:
    return sum(width + _GAP for width in widths.values())
