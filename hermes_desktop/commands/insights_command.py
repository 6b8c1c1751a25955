"""The command ``/insights [days]``: usage statistics as text with plain tables."""

from collections.abc import Sequence

from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.words import count
from hermes_desktop.core.errors import RefusedError, UsageError
from hermes_desktop.state.maintenance.insights import Insights, Used, insights

USUAL_DAYS = 30
MOST_DAYS = 3650
MOST_CHARS = 4000
_ROWS = 8
_NAME = 26
_FENCE = "```"


def days_of(text: str, usage: str) -> int:
    """Parse the requested number of days.

    Raises:
        UsageError: The text is not a valid number of days.
    """
    if not text:
        return USUAL_DAYS
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0  # noqa: PLR2004
    if not 1 <= number <= MOST_DAYS:
        raise UsageError(
            "This is not a valid number of days.", f"Choose 1 to {MOST_DAYS} days.", f"{usage} 7"
        )
    return number


async def insights_(context: CommandContext) -> CommandReply:
    """Handle ``/insights``: statistics of the whole home, for the owner and admins only."""
    sender = context.sender
    if not (sender.in_window or sender.is_admin):
        raise RefusedError("You cannot view this.", "It includes sessions of other people.")
    days = days_of(context.args, context.name("insights"))
    now = context.clock.time()
    found = await context.run_aside(lambda: insights(context.store, days, now=now))
    return CommandReply(words(found))


def words(found: Insights, most: int = MOST_CHARS) -> str:
    """Format the statistics as text of a limited length."""
    total = found.total
    head = [
        f"**The last {count(found.days_asked, 'day')}**"
        + (f" ({found.source})" if found.source else ""),
        (
            f"{count(total.sessions, 'session')}, {count(total.messages, 'message')} "
            f"({found.user_messages:,} by users), {count(total.tool_calls, 'tool call')}"
        ),
        f"{count(total.tokens, 'token')}: {total.input_tokens:,} in, {total.output_tokens:,} out"
        + (f", {total.cache_read_tokens:,} from the cache" if total.cache_read_tokens else ""),
        f"Costs: {cost(total)}",
        *_beside(found),
    ]
    if not total.sessions:
        return f"{head[0]}\nThere were no sessions."
    tables = [
        _table("Model", _use_rows(found.models, ("sessions", "tokens"), costs=True)),
        _table("Platform", _use_rows(found.platforms, ("sessions", "messages", "tokens"))),
        _table("Tool", [("", "calls"), *((name, f"{calls:,}") for name, calls in found.tools)]),
        _table("Day", _use_rows(found.days[::-1], ("sessions", "messages", "tokens"))),
    ]
    text = "\n".join(head)
    for table in filter(None, tables):
        block = f"\n\n{_FENCE}\n{table}\n{_FENCE}"
        if len(text) + len(block) > most:
            break
        text += block
    return text


def _beside(found: Insights) -> list[str]:
    """Return why the tokens of models add up to more than the total."""
    if not found.side_tokens:
        return []
    tokens = count(found.side_tokens, "token")
    return [f"Titles and summaries used {tokens} more, which are listed by model only."]


def cost(used: Used) -> str:
    """Format the known costs; unknown costs are never reported as zero."""
    if used.unpriced and not used.cost_usd:
        return "unknown"
    least = "at least " if used.unpriced else ""
    return f"{least}{used.cost_usd:.2f} US dollars"


def _use_rows(
    used: Sequence[Used], columns: Sequence[str], *, costs: bool = False
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", *columns, *(["costs"] if costs else []))]
    for each in used:
        figures = [f"{getattr(each, column):,}" for column in columns]
        rows.append((each.name, *figures, *([_price(each)] if costs else [])))
    return rows


def _price(used: Used) -> str:
    """Format the known costs, with ``+ ?`` where a price is unknown."""
    if used.unpriced and not used.cost_usd:
        return "?"
    return f"{used.cost_usd:.2f} $" + (" + ?" if used.unpriced else "")


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    """Format rows as aligned columns; the rest of a long list is counted."""
    shown = [(title, *rows[0][1:]), *(_plain(row) for row in rows[1 : _ROWS + 1])]
    if len(rows) <= 1:
        return ""
    widths = [max(len(row[at]) for row in shown) for at in range(len(shown[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]
    more = len(rows) - 1 - _ROWS
    return "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])])


def _plain(row: tuple[str, ...]) -> tuple[str, ...]:
    """Replace the name by one that breaks neither table nor code fence."""
    name = " ".join(row[0].replace("`", "'").split()) or "unknown"
    return (name if len(name) <= _NAME else name[: _NAME - 1] + "…", *row[1:])
