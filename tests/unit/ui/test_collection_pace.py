"""When garbage is collected: young objects briefly, all of them when nobody notices, but always."""

from hermes_desktop.ui.start.garbage_collection import (
    APART_S,
    AT_MOST_S,
    FEW_OBJECTS,
    MANY_OBJECTS,
    MIDDLE_EVERY,
    QUIET_S,
    SHORT_S,
    YOUNG_OBJECTS,
    CollectionSchedule,
    Decision,
)

LATER = APART_S + 1.0
FAST = 1e-8


def after_a_while() -> CollectionSchedule:
    """Something was allocated, and the last full collection is long ago."""
    pace = CollectionSchedule(0.0)
    pace.note_activity(LATER)
    assert pace.decide(0.0, FEW_OBJECTS, hidden=False) is None
    return pace


def collect(pace: CollectionSchedule, now: float, allocated: int, object_s: float = FAST) -> int:
    done = pace.decide(now, allocated, hidden=False)
    if done is None:
        return -1
    looked_at = allocated * (3 if done.generation else 1)
    pace.note_collection(done, now, allocated, 0, looked_at * object_s)
    return done.generation


def test_little_is_left_alone() -> None:
    pace = CollectionSchedule(0.0)
    assert pace.decide(1_000.0, FEW_OBJECTS - 1, hidden=True) is None
    assert pace.decide(1.0, YOUNG_OBJECTS - 1, hidden=False) is None


def test_young_objects_are_collected_by_their_number_and_survivors_after_some_times() -> None:
    pace = CollectionSchedule(0.0)
    seen = [collect(pace, 1.0, YOUNG_OBJECTS) for _ in range(2 * MIDDLE_EVERY + 2)]
    assert seen == [*[0] * MIDDLE_EVERY, 1, *[0] * MIDDLE_EVERY, 1]


def test_survivors_are_collected_before_that_takes_long() -> None:
    pace = CollectionSchedule(0.0)
    object_s = SHORT_S / (3.5 * YOUNG_OBJECTS)
    for _ in range(40):  # it learns what an object costs
        collect(pace, 1.0, YOUNG_OBJECTS, object_s)
    pace.note_collection(Decision(2, ""), 1.0, 0, 0, 0.05)
    seen = [collect(pace, 1.0, YOUNG_OBJECTS, object_s) for _ in range(9)]
    assert seen == [0, 0, 1] * 3


def test_what_would_take_long_waits_for_the_pause() -> None:
    pace = CollectionSchedule(0.0)
    slow = SHORT_S / YOUNG_OBJECTS
    for _ in range(40):
        collect(pace, 1.0, YOUNG_OBJECTS, slow)
    assert pace.decide(2.0, 3 * YOUNG_OBJECTS, hidden=False) is None
    assert pace.decide(LATER, 3 * YOUNG_OBJECTS, hidden=False) == Decision(
        2, "the program was idle"
    )


def test_all_are_collected_once_nothing_goes_on() -> None:
    pace = after_a_while()
    assert pace.decide(LATER + QUIET_S - 0.1, FEW_OBJECTS, hidden=False) is None
    decision = pace.decide(LATER + QUIET_S, FEW_OBJECTS, hidden=False)
    assert decision == Decision(2, "the program was idle")


def test_a_hidden_window_need_not_be_quiet() -> None:
    decision = after_a_while().decide(LATER, FEW_OBJECTS, hidden=True)
    assert decision == Decision(2, "the window is hidden")


def test_it_is_never_left_out_however_busy_the_person_is() -> None:
    pace = after_a_while()
    for second in range(int(AT_MOST_S)):
        pace.note_activity(float(second))
        assert pace.decide(float(second), FEW_OBJECTS, hidden=False) is None
    pace.note_activity(AT_MOST_S)
    assert pace.decide(AT_MOST_S, FEW_OBJECTS, hidden=False) == Decision(2, "postponed long enough")


def test_once_is_enough() -> None:
    pace = after_a_while()
    done = pace.decide(LATER, FEW_OBJECTS, hidden=True)
    assert done is not None
    pace.note_collection(done, LATER, FEW_OBJECTS, 7, 0.05)
    assert pace.decide(LATER + 10 * APART_S, FEW_OBJECTS - 1, hidden=True) is None
    assert pace.decide(LATER + 10 * APART_S, FEW_OBJECTS, hidden=True) is not None


def test_the_memory_does_not_fill_until_the_pause() -> None:
    pace = CollectionSchedule(0.0)
    pace.note_activity(1.0)
    assert pace.decide(1.0, MANY_OBJECTS, hidden=False) == Decision(2, "too many new objects")
