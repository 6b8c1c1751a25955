"""Commands about the model that answers, and its usage."""

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.parsing import take_flags, take_option
from hermes_desktop.commands.present_session import (
    chain_rows,
    context_line,
    number,
    session_row,
)
from hermes_desktop.commands.words import cost_words, count, first_words, lines
from hermes_desktop.core.errors import UsageError
from hermes_desktop.core.usage import ModelUsage, cost_of, task_label
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionRow

MOST_NAME_CHARS = 200
_MOST_MODELS = 12
_NOT_YET = ("--global", "--once", "--refresh")
_DEFAULT = frozenset({"default", "reset"})


async def model(context: CommandContext) -> CommandReply:
    """Handle ``/model [name] [--provider name]``, for this session only."""
    flags, rest = take_flags(context.args, *_NOT_YET, "--session")
    provider, name = take_option(rest, "--provider")
    refused = sorted(flags & set(_NOT_YET))
    if refused:
        raise UsageError(
            f"{refused[0]} is not there yet.",
            "In this version a model is chosen for one session at a time.",
            "To change it for all, say `hermes-desktop config set model.default NAME`, or choose "
            "it in the settings of the window.",
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
    chosen = "This session has a model of its own." if override else ""
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
    """Handle ``/usage``: the stored usage by model, across programs and restarts."""
    row = await session_row(context)
    if row is None:
        return CommandReply("Nothing has been said here yet, so nothing was used.")
    row_id = str(row["id"])
    whole, last = await context.run(lambda: _read(context.store, row_id))
    parts = [_totals("This session", whole)]
    if len(whole.rows) > 1:
        parts.append(_totals("Since it was last shortened", last))
    if len(whole.shares) > 1:
        parts.append(_by_model(whole.shares))
    parts.append(await context_line(context, row_id))
    return CommandReply("\n\n".join(part for part in parts if part))


@dataclass(frozen=True, slots=True)
class _Used:
    """The usage of some parts of a session: their rows, and the usage by model."""

    rows: list[SessionRow]
    shares: tuple[ModelUsage, ...]


def _read(store: SessionDB, row_id: str) -> tuple[_Used, _Used]:
    """Return the usage of all parts of a session, and of its last one."""
    rows = chain_rows(store, row_id)
    ids = [str(row["id"]) for row in rows]
    whole = _Used(rows, store.usage_of(ids))
    return whole, _Used(rows[-1:], store.usage_of(ids[-1:])) if len(rows) > 1 else whole


def _totals(name: str, used: _Used) -> str:
    def total(column: str) -> int:
        return sum(number(row, column) for row in used.rows)

    reasoning = total("reasoning_tokens")
    return lines(
        f"{name}: {count(total('api_call_count'), 'call')} of the model",
        f"{total('input_tokens'):,} tokens in"
        + _cached(total("cache_read_tokens"))
        + f", {total('output_tokens'):,} out"
        + (f" ({reasoning:,} of them thinking)" if reasoning else ""),
        f"Costs: {cost_words(cost_of(used.shares))}",
    )


def _by_model(shares: Sequence[ModelUsage]) -> str:
    """Return one line for each model and auxiliary task."""
    shown = shares[:_MOST_MODELS]
    more = len(shares) - len(shown)
    return lines(
        "**By model**",
        *(f"- {_share(each)}" for each in shown),
        f"and {more} more" if more else "",
    )


def _share(used: ModelUsage) -> str:
    names = (used.model or "unknown", f"at {used.provider}" if used.provider else "")
    who = first_words(" ".join((*filter(None, names), task_label(used.task))).strip())
    figures = (
        count(used.calls, "call"),
        f"{used.input_tokens:,} tokens in" + _cached(used.cache_read_tokens),
        f"{used.output_tokens:,} out",
        _cost(used),
    )
    return f"{who.replace('`', chr(39))}: {', '.join(figures)}"


def _cost(used: ModelUsage) -> str:
    cost = cost_of([used])
    return cost_words(cost) if cost.usd is not None else "costs not known"


def _cached(tokens: int) -> str:
    return f" and {tokens:,} from a cache" if tokens else ""
