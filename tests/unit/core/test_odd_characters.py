import pytest

from hermes_desktop.core.text.odd_characters import first_invalid_character


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sk-or-plain_123~", ""),
        ("“sk", "“ (left double quotation mark, U+201C), character 1"),
        ("sk\u200b", "zero width space, U+200B, character 3"),
        ("s\u043eu", "\u043e (cyrillic small letter o, U+043E), character 2"),
        ("a b", "space, U+0020, character 2"),
        ("a\nb", "U+000A, character 2"),
        ("a\xa0", "no-break space, U+00A0, character 2"),
    ],
)
def test_the_first_odd_character_is_named(text: str, said: str) -> None:
    assert first_invalid_character(text) == said
