"""The commands ``/reasoning`` and ``/fast``: thinking effort and its display, and answer speed."""

from hermes_desktop.agent.thinking import EFFORT, EFFORTS, TIER, knows_tiers
from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.parsing import take_flags
from hermes_desktop.commands.words import lines
from hermes_desktop.core.errors import RefusedError, UsageError

_SETTING = "agent.reasoning_effort"
_DEFAULT = frozenset({"default", "reset"})
_SHOW = {"show": True, "hide": False}
_SPEEDS = frozenset({"normal", "fast", "status"})


async def reasoning(context: CommandContext) -> CommandReply:
    """Handle ``/reasoning [level|default|show|hide] [--global]``."""
    flags, rest = take_flags(context.args, "--global")
    word = rest.strip().lower()
    everywhere = "--global" in flags
    if word in _SHOW:
        return await _show(context, shown=_SHOW[word], everywhere=everywhere)
    if word and word not in EFFORTS and word not in _DEFAULT:
        raise UsageError(
            "That is no level of thinking.",
            f"There are: {', '.join(EFFORTS)}; default takes the choice back.",
            f"Say {context.name('reasoning')} high, or {context.name('reasoning')} show or hide.",
        )
    if not word:
        return await _tell(context)
    if everywhere:
        return await _choose_everywhere(context, word)
    _not_while_busy(context, "reasoning")
    value = "" if word in _DEFAULT else word
    await context.host.choose(EFFORT, value)
    if not value:
        return CommandReply("The settings say from your next message on how much is thought.")
    return CommandReply(
        f"Thinking: {value}, from your next message on. This holds for this session; models "
        "that do not know this are asked without it."
    )


async def _tell(context: CommandContext) -> CommandReply:
    chosen = await context.host.chosen()
    override = {**context.host.model_override(), **chosen}
    choice = await context.run(lambda: context.facts.choose_model(override))
    effort = (choice.reasoning_effort if choice is not None else "") or "as the model likes"
    where = "chosen for this session" if EFFORT in chosen else "as the settings say"
    shown = "It is shown in this chat." if context.host.shows_thinking() else ""
    usage = f"{context.name('reasoning')} <{'|'.join(EFFORTS)}|default|show|hide> [--global]"
    return CommandReply(lines(f"Thinking: {effort} ({where}).", shown, f"Usage: {usage}"))


async def _choose_everywhere(context: CommandContext, word: str) -> CommandReply:
    value = None if word in _DEFAULT else word
    await _change_setting(context, _SETTING, value)
    if (await context.host.chosen()).get(EFFORT):
        await context.host.choose(EFFORT, "")
    return CommandReply(
        f"Thinking: {value or 'as the model likes'}, in all sessions where nothing else was chosen."
    )


async def _show(context: CommandContext, *, shown: bool, everywhere: bool) -> CommandReply:
    if context.sender.in_window:
        return CommandReply("In this window thinking stands folded above each reply; click it.")
    if everywhere:
        await _change_setting(context, "display.show_reasoning", shown)
    context.host.show_thinking(shown=shown)
    where = "in all chats" if everywhere else "in this chat"
    what = "stands above replies" if shown else "is not shown"
    return CommandReply(f"What the model thinks {what} {where} from now on.")


async def fast(context: CommandContext) -> CommandReply:
    """Handle ``/fast [normal|fast|status]``."""
    word = context.args.strip().lower() or "status"
    if word not in _SPEEDS:
        usage = context.name("fast")
        raise UsageError("That is no speed.", "", f"Say {usage} fast, normal or status.")
    chosen = await context.host.chosen()
    override = {**context.host.model_override(), **chosen}
    choice = await context.run(lambda: context.facts.choose_model(override))
    can_be_fast = choice is not None and knows_tiers(choice)
    if word == "status":
        return CommandReply(_speed(chosen.get(TIER) == "fast", can_be_fast=can_be_fast))
    if word == "fast" and not can_be_fast:
        raise RefusedError(
            "This model cannot be asked to answer faster here.",
            "Hermes Desktop knows how to ask for that, for more money, at OpenAI's own address "
            "(the provider openai), and nowhere else.",
            f"Choose one of its models with {context.name('model')} <name> --provider openai.",
        )
    _not_while_busy(context, "fast")
    await context.host.choose(TIER, "fast" if word == "fast" else "")
    told = "fast, which costs more" if word == "fast" else "normal"
    return CommandReply(f"Speed: {told}, from your next message on, in this session.")


def _speed(fast: bool, *, can_be_fast: bool) -> str:  # noqa: FBT001 - a state of one meaning
    if fast and not can_be_fast:
        return "Speed: normal. Fast was chosen, but this model cannot be asked for it."
    return f"Speed: {'fast' if fast else 'normal'}."


def _not_while_busy(context: CommandContext, name: str) -> None:
    if context.host.is_busy():
        raise RefusedError(
            f"{context.name(name)} has to wait: a reply is being written.",
            "",
            f"Wait for it, or say {context.name('stop')}.",
        )


async def _change_setting(context: CommandContext, key: str, value: object) -> None:
    sender, change = context.sender, context.facts.change_setting
    if not (sender.in_window or (sender.restricted and sender.is_admin)):
        raise RefusedError(
            "You may not change the settings.",
            "Only the owner or a named admin may.",
            "Leave --global away; then it holds for this session.",
        )
    if change is None:
        raise RefusedError("The settings of this home are not written here.")
    await context.run(lambda: change(key, value))
