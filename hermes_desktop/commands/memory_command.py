"""The command ``/memory``: lists, approves and deletes what the assistant remembers."""

from collections.abc import Awaitable, Callable, Mapping

from hermes_desktop.agent.memory_store import LIMITS, Entry, MemoryStore, PendingWrite
from hermes_desktop.agent.options.config_options import WRITE_APPROVAL
from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.words import ago, count, first_words, lines
from hermes_desktop.commands.work_commands import is_owner
from hermes_desktop.core.errors import RefusedError, StateError, UsageError

_TITLES = {"memory": "Notes", "user": "About you"}
_SWITCH = {"on": True, "off": False}
_SHOWN = 300


async def memory(context: CommandContext) -> CommandReply:
    """Run the subcommand named by the first word; ``show`` without one."""
    _for_the_person_alone(context)
    home = context.facts.home
    if home is None:
        raise RefusedError("This chat has no memory.")
    word, _, rest = context.args.strip().partition(" ")
    does = _DOES.get(word.lower() or "show")
    if does is None:
        usage = context.name("memory")
        raise UsageError(
            "This subcommand does not exist.",
            f"The subcommands are {', '.join(_DOES)}.",
            f"Send {usage}, or {usage} pending.",
        )
    try:
        return await does(context, MemoryStore(home), rest.strip())
    except OSError as error:
        raise StateError("The memory cannot be read.", str(error.strerror)) from error


def _for_the_person_alone(context: CommandContext) -> None:
    sender = context.sender
    if not sender.in_window and (sender.chat_type != "dm" or not sender.is_admin):
        raise RefusedError(
            "The memory is not shown here.", "It may be private.", "Ask in a direct chat."
        )


async def _show(context: CommandContext, store: MemoryStore, _rest: str) -> CommandReply:
    def look() -> tuple[Mapping[str, tuple[tuple[Entry, ...], int]], int]:
        kept = {target: (store.entries(target), store.used(target)) for target in LIMITS}
        return kept, len(store.pending())

    kept, waiting = await context.run(look)
    parts = []
    for target, (entries, used) in kept.items():
        share = 100 * used // LIMITS[target]
        head = f"**{_TITLES[target]}** ({used:,} of {LIMITS[target]:,} characters, {share} %)"
        told = [f"- `{each.id}` {first_words(each.text, _SHOWN)}" for each in entries]
        parts.append(lines(head, *(told or ["Nothing."])))
    pending = context.name("memory pending")
    more = f"{count(waiting, 'change')} waiting for your approval: {pending}" if waiting else ""
    forget = (
        f"To remove an entry, send {context.name('memory')} forget <id>."
        if any(entries for entries, _ in kept.values())
        else ""
    )
    return CommandReply("\n\n".join(part for part in (*parts, more, forget) if part))


async def _pending(context: CommandContext, store: MemoryStore, _rest: str) -> CommandReply:
    waiting = await context.run(store.pending)
    if not waiting:
        return CommandReply("No changes are waiting for your approval.")
    name = context.name("memory")
    return CommandReply(
        lines(
            f"**{count(len(waiting), 'change')} waiting for your approval**",
            *(_line(each, context) for each in waiting),
            f"{name} approve <id>, {name} reject <id>, or all in place of the id.",
        )
    )


def _line(waiting: PendingWrite, context: CommandContext) -> str:
    old = f" (replaces “{first_words(waiting.old_text)}”)" if waiting.action == "replace" else ""
    what = waiting.content or waiting.old_text
    target = "about you" if waiting.target == "user" else "note"
    told = f"{waiting.action} {target}: {first_words(what, _SHOWN)}{old}"
    return f"- `{waiting.id}` {told} ({ago(waiting.created_at, context.clock)})"


async def _approve(context: CommandContext, store: MemoryStore, rest: str) -> CommandReply:
    done = await _each(context, store, rest, store.approve)
    return CommandReply(
        lines(
            *(f"Remembered: {first_words(each.content or each.old_text)}" for each in done),
            "New sessions will know it.",
        )
    )


async def _reject(context: CommandContext, store: MemoryStore, rest: str) -> CommandReply:
    done = await _each(context, store, rest, store.reject)
    told = (f"Not remembered: {first_words(each.content or each.old_text)}" for each in done)
    return CommandReply(lines(*told))


async def _each(
    context: CommandContext,
    store: MemoryStore,
    rest: str,
    does: Callable[[str], PendingWrite],
) -> list[PendingWrite]:
    if not rest:
        raise UsageError(
            "Which change?", "", f"To list them, send {context.name('memory')} pending."
        )

    def work() -> list[PendingWrite]:
        wanted = [each.id for each in store.pending()] if rest.lower() == "all" else rest.split()
        return [does(name) for name in wanted]

    done = await context.run(work)
    if not done:
        raise RefusedError("No changes are waiting for your approval.")
    return done


async def _approval(context: CommandContext, _store: MemoryStore, rest: str) -> CommandReply:
    change, wanted = context.facts.change_setting, _SWITCH.get(rest.lower())
    if not is_owner(context):
        raise RefusedError(
            "You cannot change this.", "Only the owner and named admins can.", "Ask one of them."
        )
    if wanted is None:
        usage = context.name("memory")
        raise UsageError("On or off?", "", f"Send {usage} approval on or {usage} approval off.")
    if change is None:
        raise RefusedError("The settings of this home cannot be changed here.")
    await context.run(lambda: change(WRITE_APPROVAL, wanted))
    if wanted:
        return CommandReply("New memories now wait for your approval.")
    return CommandReply("The assistant now remembers without asking.")


async def _forget(context: CommandContext, store: MemoryStore, rest: str) -> CommandReply:
    words = rest.split()
    sure = len(words) > 1 and words[-1].lower() == "yes"
    name = " ".join(words[:-1] if sure else words)
    if not name:
        raise UsageError("Which entry?", "", f"Send {context.name('memory')} forget <id>.")
    entry = await context.run(lambda: store.find(name))
    if not sure:
        usage = f"{context.name('memory')} forget {entry.id} yes"
        return CommandReply(f"This will be forgotten: “{entry.text}”. To confirm, send {usage}.")
    await context.run(lambda: store.forget(entry))
    return CommandReply(f"Forgotten: {first_words(entry.text, _SHOWN)}")


_Does = Callable[[CommandContext, MemoryStore, str], Awaitable[CommandReply]]
_DOES: Mapping[str, _Does] = {
    "show": _show,
    "pending": _pending,
    "approve": _approve,
    "reject": _reject,
    "approval": _approval,
    "forget": _forget,
}
