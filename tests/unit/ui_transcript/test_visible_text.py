"""Nothing hides, reorders or steers."""

from hermes_desktop.ui.words.visible_text import (
    broken_lines,
    one_line,
    visible,
    without_terminal_colours,
)


def test_line_ends_become_one_kind() -> None:
    assert visible("a\r\nb\rc\u2028d\u2029e\x0bf\x85g") == "a\nb\nc\nd\ne\nf\ng"


def test_marks_of_qt_documents_cannot_be_smuggled_in() -> None:
    assert visible("a\ufdd0b\ufffcc\ufdd1") == "a\ufffdb\ufffdc\ufffd"


def test_signs_for_controls() -> None:
    assert visible("\x00\x1b\x7f\x9b\t") == "␀␛␡\ufffd\t"


def test_right_to_left_marks_that_people_use_stay() -> None:
    assert visible("שלום\u200f!") == "שלום\u200f!"


def test_terminal_commands_go() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x \x1b]8;;http://e\x1b\\link \x9b2Ky"
    assert without_terminal_colours(text) == "red x link y"


def test_one_line() -> None:
    assert one_line(" a\n b\t c ") == "a b c"
    assert one_line("x" * 500, 10) == "xxxxxxxxx…"


def test_long_lines_are_broken_across_pieces() -> None:
    assert broken_lines("abcdef\ngh", 4) == "abcd\nef\ngh"
    assert broken_lines("abcdef", 4, used=3) == "a\nbcde\nf"
    assert broken_lines("abc", 4, used=4) == "\nabc"
    assert broken_lines("ab\ncd", 4, used=2) == "ab\ncd"
