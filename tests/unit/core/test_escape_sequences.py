"""Output of programs without escape sequences."""

import pytest

from hermes_desktop.core.text.escape_sequences import plain_output, without_escape_sequences


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[31m",  # a color
        "\x1b[8m",  # hidden text
        "\x1b[2J\x1b[1;1H",  # clear the screen
        "\x1b[?1049h",  # the other screen
        "\x1b[6n",  # report the cursor's position
        "\x1b[c\x1b[>c\x1b[21t",  # report what the terminal is, and its title
        "\x1b]0;title\x07",
        "\x1b]2;title\x1b\\",
        "\x1b]52;c;cm0gLXJmIC8=\x07",  # the clipboard
        "\x1b]8;;https://example.org\x1b\\",  # a link
        "\x1b]4;1;?\x07",  # report a color
        "\x1b]1337;File=inline=1:AAAA\x07",  # a file
        '\x1bP$q"p\x1b\\',  # report a setting
        "\x1b_Ga=T;AAAA\x1b\\",  # a picture
        "\x1b^private\x1b\\",
        "\x1bc",  # reset
        "\x1b(0",  # another set of characters
        "\x1b#8",
        "\x1b7\x1b8",
        "\x9b31m",
        "\x9d0;title\x9c",
        "\x90q\x9c",
        "\x1b[201~",  # the end of pasted text
        "\x1b",
    ],
)
def test_nothing_of_a_sequence_is_left(sequence: str) -> None:
    assert plain_output(f"a{sequence}") == "a"
    assert without_escape_sequences(f"a{sequence}") == "a"


def test_what_follows_an_unfinished_sequence_is_kept() -> None:
    assert plain_output("a\x1b]0;never ended\nb") == "a\nb"
    assert plain_output("a\x1b[12") == "a"


def test_text_stays_as_it_is() -> None:
    text = "tab\tline\r\n12%\rdone\b \N{SNOWMAN} é\n"

    assert plain_output(text) == text
    assert plain_output("a\x00\x07\x0e\x7fb") == "ab"


def test_a_secret_cannot_hide_behind_a_color() -> None:
    assert plain_output("pla\x1b[0mnted") == "planted"
