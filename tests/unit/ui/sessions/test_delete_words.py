"""What the question before a delete says."""

from hermes_desktop.services.sessions.delete_plan import DeletePlan, PlannedConversation
from hermes_desktop.services.sessions.live_actions import DeletePreview
from hermes_desktop.ui.sessions.delete_question import about, facts_about, quoted, what_goes


def planned(number: int, **fields) -> PlannedConversation:
    defaults = {
        "id": f"s{number}",
        "label": f"Talk {number}",
        "source": "telegram",
        "segments": (f"s{number}",),
        "subagents": (),
        "messages": 4,
        "bytes": 100,
    }
    return PlannedConversation(**(defaults | fields))


def test_one_is_named_several_are_counted() -> None:
    assert what_goes(DeletePlan((planned(1, label="Trip\n plan"),))) == "“Trip plan”"
    assert what_goes(DeletePlan(tuple(planned(n) for n in range(1_200)))) == "1,200 sessions"
    assert len(quoted("long " * 50)) < 70
    assert about(planned(1, messages=1)) == "Telegram · 1 message"


def test_sources_messages_parts_and_what_is_gone() -> None:
    several = DeletePlan(
        (planned(1), planned(2, source="cli"), planned(3, segments=("a", "b", "c"))), ("x", "y")
    )
    assert facts_about(DeletePreview(several)) == [
        "2 Telegram, 1 Terminal. 12 messages in total.",
        "One of them was compressed. All 3 parts are deleted.",
        "2 sessions no longer exist.",
    ]
    one = DeletePlan((planned(3, segments=("a", "b")),))
    assert facts_about(DeletePreview(one)) == ["It was compressed. All 2 parts are deleted."]
    assert facts_about(DeletePreview(DeletePlan((planned(1),)))) == []


def test_subagents_are_called_by_name() -> None:
    few = DeletePlan((planned(1, subagents=("a", "b")),))
    assert facts_about(DeletePreview(few, ("Trains", "Hotels"))) == [
        "2 subagents are also deleted: “Trains” and “Hotels”."
    ]
    many = DeletePlan((planned(1, subagents=tuple("abcdefg")),))
    assert facts_about(DeletePreview(many, ("A", "B", "C", "D", "E")))[-1].endswith(
        "“D”, “E” and 2 more."
    )
    single = DeletePlan((planned(1, subagents=("a",)),))
    assert facts_about(DeletePreview(single, ("Trains",))) == [
        "1 subagent is also deleted: “Trains”."
    ]


def test_pinned_ones_are_mentioned() -> None:
    one, other = planned(1, pinned=True), planned(2)
    assert facts_about(DeletePreview(DeletePlan((one,)))) == ["It is pinned."]
    assert "1 of them is pinned." in facts_about(DeletePreview(DeletePlan((one, other))))
    both = DeletePlan((one, planned(3, pinned=True)))
    assert "2 of them are pinned." in facts_about(DeletePreview(both))
