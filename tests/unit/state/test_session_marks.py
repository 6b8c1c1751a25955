"""What is known of the session rows survives packing, and tells what came, changed and went."""

from hermes_desktop.state.maintenance.session_marks import RowMark, SessionMarks


def rows(*numbers: int, mark: int = 1) -> list[RowMark]:
    return [RowMark(number, f"s{number}", mark) for number in numbers]


def test_new_and_changed_rows_are_named_once() -> None:
    marks = SessionMarks()
    assert len(marks.note(rows(*range(1, 2_001)))) == len(marks) == 2_000
    assert marks.note(rows(*range(1, 2_001))) == set()
    assert marks.note(rows(1_999, 3, 700, mark=-(2**63))) == {"s3", "s700", "s1999"}
    assert marks.note(rows(3, 4, mark=1)) == {"s3"}
    assert len(marks) == 2_000


def test_rows_that_are_gone_are_forgotten_by_name() -> None:
    marks = SessionMarks()
    marks.note(rows(*range(1, 2_001)))
    present = [number for number in range(1, 2_006) if number not in {5, 512, 600}]
    unknown, gone = marks.match(reversed(present))
    assert unknown == [2_001, 2_002, 2_003, 2_004, 2_005]
    assert gone == {"s5", "s512", "s600"}
    assert len(marks) == 1_997
    assert marks.note(rows(5)) == {"s5"}
    assert marks.match([])[1] == {f"s{number}" for number in range(1, 2_001)} - {"s512", "s600"}
    assert len(marks) == 0


def test_a_number_given_to_another_session_displaces_the_first() -> None:
    marks = SessionMarks()
    marks.note([*rows(1, 2), RowMark(3, "nul\0 and \udcff", 1)])
    assert marks.note([RowMark(2, "other", 9), RowMark(3, "third", 9)]) == {"other", "third"}
    assert marks.take_displaced() == {"s2", "nul\0 and \udcff"}
    assert marks.take_displaced() == set()
    assert len(marks) == 3
