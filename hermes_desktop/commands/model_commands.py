"""Commands about the model that answers, and what it has used."""

from typing import Any

from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.parsing import take_flags, take_option
from hermes_desktop.commands.present_session import context_line, number, session_row
from hermes_desktop.commands.words import count, first_words, lines
from hermes_desktop.core.errors import UsageError

MOST_NAME_CHARS = 200
_NOT_YET = ("--global", "--once", "--refresh")
_DEFAULT = frozenset({"default", "reset"})


async def model(context: CommandContext) -> CommandReply:
    """``/model [name] [--provider name]``: for this conversation only."""
    flags, rest = take_flags(context.args, *_NOT_YET, "--session")
    provider, name = take_option(rest, "--provider")
    refused = sorted(flags & set(_NOT_YET))
    if refused:
        raise UsageError(
            f"{refused[0]} is not there yet.",
            "In this version a model is chosen for one session at a time.",
            "To change it for all, set model.default in config.yaml.",
        )
    if provider == "":
        raise _unclear(context, "--provider is followed by a name")
    if not name and provider is None:
        return await _tell(context)
    if not name:
        raise _unclear(context, "--provider alone names no model")
    return await _choose(context, name, provider)


async def _tell(context: CommandContext) -> CommandReply:
    override = context.host.model_override()
    choice = await context.run(lambda: context.facts.choose_model(override))
    if choice is None:
        return CommandReply("No model is set.")
    chosen = "It was chosen for this session." if override else ""
    return CommandReply(
        lines(
            f"{choice.model} answers, at {choice.provider}.",
            chosen,
            f"{context.name('model')} <name> chooses another for this session"
            + (f", {context.name('model')} default takes that back." if override else "."),
        )
    )


async def _choose(context: CommandContext, name: str, provider: str | None) -> CommandReply:
    if " " in name or len(name) > MOST_NAME_CHARS or not name.isprintable():
        raise _unclear(context, f"“{first_words(name)}” is no name of a model")
    if name.lower() in _DEFAULT and provider is None:
        await context.host.set_model_override({})
        context.host.forget_agent()
        return CommandReply("The model of the settings answers from your next message on.")
    override = {"model": name} | ({"provider": provider} if provider else {})
    choice = await context.run(lambda: context.facts.choose_model(override))
    await context.host.set_model_override(override)
    context.host.forget_agent()
    place = f", at {choice.provider}" if choice is not None else ""
    return CommandReply(
        f"{name} answers from your next message on{place}. This holds for this session."
    )


def _unclear(context: CommandContext, detail: str) -> UsageError:
    return UsageError(
        "That is no model.",
        f"{detail}.",
        f"Say {context.name('model')} <name>, or add --provider <name>.",
    )


async def usage(context: CommandContext) -> CommandReply:
    """``/usage``: totals as stored, whoever counted them and however often we were restarted."""
    row = await session_row(context)
    if row is None:
        return CommandReply("Nothing has been said here yet, so nothing was used.")
    row_id = str(row["id"])

    def read() -> list[dict[str, Any]]:
        lineage = context.store.get_compression_lineage(row_id) or [row_id]
        return [found for each in lineage if (found := context.store.get_session(each))]

    rows = await context.run(read)
    parts = [_totals("This session", rows)]
    if len(rows) > 1:
        parts.append(_totals("Since it was last shortened", rows[-1:]))
    parts.append(await context_line(context, row_id))
    return CommandReply("\n\n".join(part for part in parts if part))


def _totals(name: str, rows: list[dict[str, Any]]) -> str:
    def total(column: str) -> int:
        return sum(number(row, column) for row in rows)

    cached = total("cache_read_tokens")
    reasoning = total("reasoning_tokens")
    costs = [_cost(row) for row in rows if number(row, "api_call_count")]
    return lines(
        f"{name}: {count(total('api_call_count'), 'call')} of the model",
        f"{total('input_tokens'):,} tokens in"
        + (f" ({cached:,} of them from a cache)" if cached else "")
        + f", {total('output_tokens'):,} out"
        + (f" ({reasoning:,} of them thinking)" if reasoning else ""),
        _cost_words(costs),
    )


def _cost_words(costs: list[float | None]) -> str:
    """What it all cost. What nobody knows is never told as nothing."""
    known = [each for each in costs if each is not None]
    if not known:
        return "Costs: not known"
    least = "at least " if len(known) < len(costs) else ""
    return f"Costs: {least}{sum(known):.4f} US dollars"


def _cost(row: dict[str, Any]) -> float | None:
    """What is known of a session's costs; None for nothing."""
    for column in ("actual_cost_usd", "estimated_cost_usd"):
        value = row.get(column)
        if isinstance(value, int | float) and value > 0:
            return float(value)
    free = row.get("cost_status") in {"actual", "included"}
    return 0.0 if free else None
