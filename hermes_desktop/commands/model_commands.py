"""Commands about the model that answers: its choice, its usage, thinking effort and speed."""

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.agent.thinking import EFFORT, EFFORTS, TIER, knows_tiers
from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.parsing import take_flags, take_option
from hermes_desktop.commands.present_session import chain_rows, context_line, number, session_row
from hermes_desktop.commands.words import cost_words, count, first_words, lines
from hermes_desktop.core.errors import RefusedError, UsageError
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
            f"{refused[0]} is not supported yet.",
            "You can only choose the model of one session here.",
            "To change it for all sessions, use `hermes-desktop config set model.default "
            "NAME` or the settings in the window.",
        )
    if provider == "":
        raise _unclear(context, "--provider needs a name")
    if not name and provider is None:
        return await _tell(context)
    if not name:
        raise _unclear(context, "--provider needs a model, too")
    return await _choose(context, name, provider)


async def _tell(context: CommandContext) -> CommandReply:
    override = context.host.model_override()
    choice = await context.run(lambda: context.facts.choose_model(override))
    if choice is None:
        return CommandReply("No model is set.")
    chosen = "It was chosen for this session." if override else ""
    return CommandReply(
        lines(
            f"{choice.model} at {choice.provider} answers.",
            chosen,
            f"To choose another one for this session, send {context.name('model')} <name>"
            + (
                f"; to return to the settings, {context.name('model')} default."
                if override
                else "."
            ),
        )
    )


async def _choose(context: CommandContext, name: str, provider: str | None) -> CommandReply:
    if " " in name or len(name) > MOST_NAME_CHARS or not name.isprintable():
        raise _unclear(context, f"“{first_words(name)}” cannot be the name of a model")
    if name.lower() in _DEFAULT and provider is None:
        await context.host.set_model_override({})
        context.host.forget_agent()
        return CommandReply("From your next message on, the model in the settings answers.")
    override = {"model": name} | ({"provider": provider} if provider else {})
    choice = await context.run(lambda: context.facts.choose_model(override))
    await context.host.set_model_override(override)
    context.host.forget_agent()
    place = f" at {choice.provider}" if choice is not None else ""
    return CommandReply(f"From your next message on, {name}{place} answers in this session.")


def _unclear(context: CommandContext, detail: str) -> UsageError:
    return UsageError(
        "This is not a model.",
        f"{detail}.",
        f"Send {context.name('model')} <name>, or add --provider <name>.",
    )


async def usage(context: CommandContext) -> CommandReply:
    """Handle ``/usage``: the stored usage by model, across programs and restarts."""
    row = await session_row(context)
    if row is None:
        return CommandReply("This session has not used the model yet.")
    row_id = str(row["id"])
    whole, last = await context.run(lambda: _read(context.store, row_id))
    parts = [_totals("This session", whole)]
    if len(whole.rows) > 1:
        parts.append(_totals("Since the last compression", last))
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
        f"{name}: {count(total('api_call_count'), 'model call')}",
        f"{total('input_tokens'):,} tokens in"
        + _cached(total("cache_read_tokens"))
        + f", {total('output_tokens'):,} out"
        + (f" ({reasoning:,} of them for thinking)" if reasoning else ""),
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
    return cost_words(cost) if cost.usd is not None else "costs unknown"


def _cached(tokens: int) -> str:
    return f" and {tokens:,} from the cache" if tokens else ""


_EFFORT_SETTING = "agent.reasoning_effort"
_SHOW_WORDS = {"show": True, "hide": False}
_SPEEDS = frozenset({"normal", "fast", "status"})


async def reasoning(context: CommandContext) -> CommandReply:
    """Handle ``/reasoning [level|default|show|hide] [--global]``."""
    flags, rest = take_flags(context.args, "--global")
    word = rest.strip().lower()
    everywhere = "--global" in flags
    if word in _SHOW_WORDS:
        return await _show(context, shown=_SHOW_WORDS[word], everywhere=everywhere)
    if word and word not in EFFORTS and word not in _DEFAULT:
        raise UsageError(
            "This level does not exist.",
            f"The levels are {', '.join(EFFORTS)}; default returns to the settings.",
            f"Send {context.name('reasoning')} high, or {context.name('reasoning')} show or hide.",
        )
    if not word:
        return await _tell_thinking(context)
    if everywhere:
        return await _choose_everywhere(context, word)
    _not_while_busy(context, "reasoning")
    value = "" if word in _DEFAULT else word
    await context.host.choose(EFFORT, value)
    if not value:
        return CommandReply(
            "From your next message on, the settings decide how much the model thinks."
        )
    return CommandReply(
        f"Thinking: {value} from your next message on, in this session. Models that do not "
        "support this ignore it."
    )


async def _tell_thinking(context: CommandContext) -> CommandReply:
    chosen = await context.host.chosen()
    override = {**context.host.model_override(), **chosen}
    choice = await context.run(lambda: context.facts.choose_model(override))
    effort = (choice.reasoning_effort if choice is not None else "") or "default of the model"
    where = "chosen for this session" if EFFORT in chosen else "from the settings"
    shown = "Thinking is shown in this chat." if context.host.shows_thinking() else ""
    usage = f"{context.name('reasoning')} <{'|'.join(EFFORTS)}|default|show|hide> [--global]"
    return CommandReply(lines(f"Thinking: {effort} ({where}).", shown, f"Usage: {usage}"))


async def _choose_everywhere(context: CommandContext, word: str) -> CommandReply:
    value = None if word in _DEFAULT else word
    await _change_setting(context, _EFFORT_SETTING, value)
    if (await context.host.chosen()).get(EFFORT):
        await context.host.choose(EFFORT, "")
    return CommandReply(
        f"Thinking: {value or 'default of the model'} in all sessions without their own choice."
    )


async def _show(context: CommandContext, *, shown: bool, everywhere: bool) -> CommandReply:
    if context.sender.in_window:
        return CommandReply("In this window, thinking is collapsed above each reply; click it.")
    if everywhere:
        await _change_setting(context, "display.show_reasoning", shown)
    context.host.show_thinking(shown=shown)
    where = "in all chats" if everywhere else "in this chat"
    what = "shown above replies" if shown else "not shown"
    return CommandReply(f"From now on, the model's thinking is {what} {where}.")


async def fast(context: CommandContext) -> CommandReply:
    """Handle ``/fast [normal|fast|status]``."""
    word = context.args.strip().lower() or "status"
    if word not in _SPEEDS:
        usage = context.name("fast")
        raise UsageError("This speed does not exist.", "", f"Send {usage} fast, normal or status.")
    chosen = await context.host.chosen()
    override = {**context.host.model_override(), **chosen}
    choice = await context.run(lambda: context.facts.choose_model(override))
    can_be_fast = choice is not None and knows_tiers(choice)
    if word == "status":
        return CommandReply(_speed(chosen.get(TIER) == "fast", can_be_fast=can_be_fast))
    if word == "fast" and not can_be_fast:
        raise RefusedError(
            "This model does not offer faster answers here.",
            "Hermes Desktop can request them only from OpenAI's own address (provider "
            "openai), at a higher price.",
            f"Choose one of its models with {context.name('model')} <name> --provider openai.",
        )
    _not_while_busy(context, "fast")
    await context.host.choose(TIER, "fast" if word == "fast" else "")
    told = "fast, at a higher price," if word == "fast" else "normal"
    return CommandReply(f"Speed: {told} from your next message on, in this session.")


def _speed(fast: bool, *, can_be_fast: bool) -> str:  # noqa: FBT001 - a state of one meaning
    if fast and not can_be_fast:
        return "Speed: normal. You chose fast, but this model does not offer it."
    return f"Speed: {'fast' if fast else 'normal'}."


def _not_while_busy(context: CommandContext, name: str) -> None:
    if context.host.is_busy():
        raise RefusedError(
            f"{context.name(name)} cannot be used while a reply is being written.",
            "",
            f"Wait for the reply, or send {context.name('stop')}.",
        )


async def _change_setting(context: CommandContext, key: str, value: object) -> None:
    sender, change = context.sender, context.facts.change_setting
    if not (sender.in_window or (sender.restricted and sender.is_admin)):
        raise RefusedError(
            "You cannot change the settings.",
            "Only the owner and named admins can.",
            "Omit --global to change this session only.",
        )
    if change is None:
        raise RefusedError("The settings of this home cannot be changed here.")
    await context.run(lambda: change(key, value))
