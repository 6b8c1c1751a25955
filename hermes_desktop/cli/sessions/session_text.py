"""Sessions and messages as readable text: a table, lines, a transcript."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from hermes_desktop.cli.output import bold, neutralise, one_line
from hermes_desktop.state.records.records import Message, SessionSummary

TOOL_LINES = 6
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_NAMES = {"user": "You", "assistant": "Hermes", "system": "System"}
_SUBJECT_WIDTH = 100
_GAP = 2
_TITLE_WIDTH = 24
_LEAST_TITLE_WIDTH = 10


def ago(then: float | None, now: float) -> str:
    """Return how long ago a time was; the date from a week on.

    Args:
        then: Epoch seconds; None or 0 for "unknown".
        now: Epoch seconds.
    """
    if not then:
        return "?"
    age = now - then
    if age >= 7 * _DAY:
        return clock_time(then)[:10]
    if age >= _DAY:
        return "yesterday" if age < 2 * _DAY else f"{age // _DAY:.0f}d ago"
    if age >= _HOUR:
        return f"{age // _HOUR:.0f}h ago"
    return f"{age // _MINUTE:.0f}m ago" if age >= _MINUTE else "just now"


def clock_time(then: float) -> str:
    """Return local date and time to the minute; "?" for a time that is unknown or out of range."""
    if not then:
        return "?"
    try:
        return datetime.fromtimestamp(then).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return "?"


def tabbed_lines(sessions: Iterable[SessionSummary]) -> str:
    """Return one line per session with tab-separated fields; see the help of ``sessions list``."""
    rows = (
        (
            one_line(session.id),
            one_line(session.source),
            str(session.message_count),
            clock_time(session.last_active),
            one_line(session.title or session.preview),
        )
        for session in sessions
    )
    return "".join("\t".join(row) + "\n" for row in rows)


def table(sessions: Sequence[SessionSummary]) -> str:
    """Draw a table as wide as the terminal; titles are cut first, then columns, never ids."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    now = time.time()
    columns = {
        "Source": [one_line(session.source) for session in sessions],
        "Messages": [str(session.message_count) for session in sessions],
        "Last active": [ago(session.last_active, now) for session in sessions],
        "ID": [one_line(session.id) for session in sessions],
    }
    widths = {name: max(map(cell_len, (name, *cells))) for name, cells in columns.items()}
    console = Console(highlight=False, markup=False, emoji=False)
    title_width = _fit(widths, console.width)
    console.width = max(console.width, _total(widths) + title_width)
    rows = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    rows.add_column("Title", no_wrap=True, overflow="ellipsis", width=title_width)
    for name, width in widths.items():
        justify: Literal["left", "right"] = "right" if name == "Messages" else "left"
        rows.add_column(name, no_wrap=True, width=width, justify=justify)
    for number, session in enumerate(sessions):
        preview = one_line(session.preview)
        title = Text(one_line(session.title or "") or (f"“{preview}”" if preview else "—"))
        if session.title is None:
            title.stylize("italic")
        if session.pinned:
            title = Text.assemble("* ", title)
        rows.add_row(title, *(Text(columns[name][number]) for name in widths))
    with console.capture() as drawn:
        console.print(rows)
    return drawn.get()


def _fit(widths: dict[str, int], terminal: int) -> int:
    """Omit columns until a title has enough room; return that room."""
    for name in ("Messages", "Source", "Last active"):
        if terminal - _total(widths) >= _TITLE_WIDTH:
            break
        del widths[name]
    return max(_LEAST_TITLE_WIDTH, terminal - _total(widths))


def _total(widths: Mapping[str, int]) -> int:
    return sum(width + _GAP for width in widths.values())


def heading(session: SessionSummary) -> str:
    """Return the heading of a transcript."""
    facts = [session.source, _counted(session.message_count, "message")]
    facts += [fact for fact in (session.display_name, session.model) if fact]
    facts += ["pinned"] if session.pinned else []
    lines = [bold(one_line(session.title or session.preview or "Untitled session"))]
    lines.append(one_line(" · ".join(facts)))
    times = f"Started {clock_time(session.started_at)}"
    if session.ended_at is not None:
        times += f", ended {clock_time(session.ended_at)} ({session.end_reason or '?'})"
    lines.append(one_line(times))
    identity = f"ID {session.id}"
    if session.root_id != session.id:
        identity += f", continues {session.root_id}"
    lines.append(one_line(identity))
    return "\n".join(lines) + "\n"


def message_block(message: Message) -> str:
    """Format one message: sender and time, text, tool calls."""
    if message.role == "tool":
        return _tool_result(message)
    who = _NAMES.get(message.role, one_line(message.role))
    block = "\n" + bold(f"{who} · {clock_time(message.timestamp)}") + "\n"
    text = neutralise(message.content).strip("\n")
    if text:
        block += text + "\n"
    for call in message.tool_calls:
        block += _tool_call(call)
    return block


def _tool_call(call: Mapping[str, Any]) -> str:
    inner = call.get("function")
    function = inner if isinstance(inner, Mapping) else call
    name = one_line(str(function.get("name") or "tool"))
    return f"▸ {name}  {_shortened(_subject(function.get('arguments')))}".rstrip() + "\n"


def _subject(arguments: Any) -> str:
    """Return the arguments of a call in readable form: values, without names and brackets."""
    try:
        decoded = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return str(arguments)
    if isinstance(decoded, Mapping):
        return ", ".join(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            for value in decoded.values()
        )
    return "" if decoded is None else str(decoded)


def _tool_result(message: Message) -> str:
    """Return the first lines of a tool result; ``--json`` has it all.

    Messages the user sent during the call are stored with the result, and are shown in full.
    """
    from hermes_desktop.core.text.stored_text import split_hints

    own, said = split_hints(message.content)
    lines = neutralise(_tool_output(own)).strip("\n").split("\n")
    shown = [f"    {line}" for line in lines[:TOOL_LINES]]
    if len(lines) > TOOL_LINES:
        shown.append(f"    … {_counted(len(lines) - TOOL_LINES, 'more line')}")
    if said:
        shown += [f"    You said in the meantime: {line}" for line in neutralise(said).split("\n")]
    return "\n".join(shown) + "\n"


def _tool_output(content: str) -> str:
    """Return the text of a result, which is usually wrapped in a JSON object."""
    try:
        decoded = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if isinstance(decoded, dict):
        for name in ("output", "error", "content", "result"):
            value = decoded.get(name)
            if isinstance(value, str) and value:
                return value
    return content


def _shortened(text: str) -> str:
    flat = one_line(text)
    return flat if len(flat) <= _SUBJECT_WIDTH else flat[: _SUBJECT_WIDTH - 1] + "…"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
