"""Display text for what a deletion removes. No Qt."""

from hermes_desktop.services.sessions.delete_plan import DeletePlan, PlannedConversation
from hermes_desktop.services.sessions.live_actions import DeletePreview
from hermes_desktop.ui.words.source_names import source_name

KEPT_WORDS = "Kept in the trash for 30 days. Undo restores everything."
_LONGEST_NAME = 60


def quoted(label: str) -> str:
    """Return a session's name in quotation marks, on one line and cut to a maximum length."""
    flat = " ".join(label.split())
    return f"“{flat if len(flat) <= _LONGEST_NAME else flat[: _LONGEST_NAME - 1] + '…'}”"


def sessions_text(count: int) -> str:
    """Return ``1 session``, ``1,200 sessions``."""
    return _counted(count, "session")


def what_goes(plan: DeletePlan) -> str:
    """Return the name of a single conversation, or the number of conversations."""
    if len(plan.conversations) == 1:
        return quoted(plan.conversations[0].label)
    return sessions_text(len(plan.conversations))


def about(conversation: PlannedConversation) -> str:
    """Return ``Telegram · 42 messages``."""
    return f"{source_name(conversation.source)} · {_counted(conversation.messages, 'message')}"


def facts_about(preview: DeletePreview) -> list[str]:
    """Return sentences about what is deleted too: sources, messages, parts, subagents."""
    plan = preview.plan
    facts: list[str] = []
    if len(plan.conversations) > 1:
        sources = ", ".join(f"{count:,} {source_name(s)}" for s, count in plan.by_source.items())
        facts.append(f"{sources}. {_counted(plan.messages, 'message')} in total.")
    facts += _about_pins(plan)
    facts += _about_parts(plan)
    if plan.subagents:
        facts.append(_about_subagents(preview))
    if plan.missing:
        gone = sessions_text(len(plan.missing))
        facts.append(f"{gone} no longer {'exists' if len(plan.missing) == 1 else 'exist'}.")
    return facts


def _about_pins(plan: DeletePlan) -> list[str]:
    if not plan.pinned:
        return []
    if len(plan.conversations) == 1:
        return ["It is pinned."]
    return [f"{plan.pinned:,} of them {'is' if plan.pinned == 1 else 'are'} pinned."]


def _about_parts(plan: DeletePlan) -> list[str]:
    chains = [each for each in plan.conversations if len(each.segments) > 1]
    if not chains:
        return []
    parts = sum(len(each.segments) for each in chains)
    if len(plan.conversations) == 1:
        return [f"It was compressed. All {parts} parts are deleted."]
    which = "One" if len(chains) == 1 else f"{len(chains):,}"
    was = "was" if len(chains) == 1 else "were"
    return [f"{which} of them {was} compressed. All {parts} parts are deleted."]


def _about_subagents(preview: DeletePreview) -> str:
    count = len(preview.plan.subagents)
    names = [quoted(name) for name in preview.subagents]
    if count > len(names):
        names.append(f"{count - len(names):,} more")
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{_counted(count, 'subagent')} {'is' if count == 1 else 'are'} also deleted: {listed}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
