"""Markdown as Telegram shows it: text and marks."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.gateway.platforms.telegram.formatted import MOST_MARKS, Formatted, Mark, units
from hermes_desktop.gateway.platforms.telegram.markup import formatted

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def marked(shown: Formatted) -> list[tuple[str, str, str]]:
    return [(m.kind, shown.text[m.start : m.end], m.detail) for m in shown.marks]


@pytest.mark.parametrize(
    ("markdown", "text", "marks"),
    [
        ("plain & <b>not</b> a_b_c", "plain & <b>not</b> a_b_c", []),
        ("**b** *i* ~~s~~", "b i s", [("bold", "b"), ("italic", "i"), ("strikethrough", "s")]),
        ("`x < y` end", "x < y end", [("code", "x < y")]),
        ("# Head\n\ntext", "Head\n\ntext", [("bold", "Head")]),
        ("- a\n- b\n  1. c", "• a\n• b\n   1. c", []),
        ("one\n\n- a\n\ntwo", "one\n\n• a\n\ntwo", []),
        ("3. x\n4. y", "3. x\n4. y", []),
        ("> said\n> so", "said\nso", [("blockquote", "said\nso")]),
        ("---\nx", "———\n\nx", []),
        ("**bold `code` bold**", "bold code bold", [("bold", "bold "), ("code", "code"),
                                                   ("bold", " bold")]),
        ("unclosed **bold", "unclosed **bold", []),
        ("unclosed\n```\ncode", "unclosed\n\ncode", [("pre", "code")]),
        ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c", []),
    ],
)  # fmt: skip
def test_marks_stand_beside_the_text(
    markdown: str, text: str, marks: list[tuple[str, str]]
) -> None:
    shown = formatted(markdown)
    assert shown.text == text
    assert [(kind, part) for kind, part, _ in marked(shown)] == marks


def test_links_go_only_where_telegram_lets_them() -> None:
    shown = formatted(
        "[a](https://x.y) [b](../etc) [c](javascript:alert) <https://z.z> ![p](u.png)"
    )
    assert shown.text.startswith("a b (../etc) [c](javascript:alert) https://z.z p (u.png)")
    assert marked(shown) == [("text_link", "a", "https://x.y")]


def test_a_block_of_code_keeps_its_language_and_its_blanks() -> None:
    shown = formatted("```python\n  if x:\n\n    pass\n```")
    assert marked(shown) == [("pre", "  if x:\n\n    pass", "python")]


def test_narrow_tables_stand_in_columns_and_wide_ones_row_by_row() -> None:
    narrow = formatted("|a|b|\n|-|-|\n|1|22|\n|333|4|")
    assert narrow.text == "a    b\n1    22\n333  4"
    assert marked(narrow)[0][0] == "pre"
    wide = formatted(f"|Name|What it is|\n|-|-|\n|x|{'long ' * 12}|\n|**y**||")
    assert wide.text == f"x\n• What it is: {'long ' * 12}".rstrip() + "\n\ny"
    assert [part for _, part, _ in marked(wide)] == ["x", "y"]


@pytest.mark.parametrize("markdown", ["", "   ", "![](x.png)", "[](https://x.y)", "<!-- -->"])
def test_what_would_be_blank_is_shown_as_it_was_written(markdown: str) -> None:
    assert formatted(markdown).text.strip() or not markdown.strip()


def test_a_cut_block_of_code_is_code_in_both_messages() -> None:
    code = "\n".join(f"line {number} = value" for number in range(500))
    parts = formatted(f"Look:\n\n```py\n{code}\n```\n\nDone.").cut()
    assert len(parts) > 2
    assert all(units(part.text) <= 4096 for part in parts)
    assert all(marked(part)[0][0::2] == ("pre", "py") for part in parts)
    assert "\n".join(part.text for part in parts).count("= value") == 500
    assert not any(part.text.endswith("line") for part in parts)


def test_no_cut_goes_through_a_link_or_what_people_see_as_one_character() -> None:
    words = "x" * 4090
    link = formatted(f"{words} [a link with words](https://x.y) end").cut()
    assert [part.text for part in link] == [words, "a link with words end"]
    families = Formatted(FAMILY * 600).cut()
    assert all(len(part.text) % len(FAMILY) == 0 for part in families)
    flags = Formatted("\U0001f1e9\U0001f1ea" * 2000).cut(41)
    assert {len(part.text) % 2 for part in flags} == {0}
    accents = Formatted("e\u0301" * 5000).cut()
    assert all(not part.text.startswith("\u0301") for part in accents)


def test_offsets_count_as_telegram_does() -> None:
    shown = formatted("😀😀 **b😀** `c`")
    assert [(m.kind, o, n) for m, o, n in shown.entities()] == [("bold", 5, 3), ("code", 9, 1)]


def test_blank_lines_at_a_cut_go_and_marks_follow() -> None:
    text = Formatted("ab\n\n  \n\ncd  \n", (Mark("bold", 0, 12),))
    assert text.part(2, 13) == Formatted("cd", (Mark("bold", 0, 2),))


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab *_`~#>-|\n[]()1.😀\u0301\u200dé<&", max_size=300), st.integers(4, 60))
def test_whatever_a_model_writes_becomes_messages_that_telegram_takes(
    markdown: str, limit: int
) -> None:
    shown = formatted(markdown)
    for mark in shown.marks:
        assert 0 <= mark.start < mark.end <= len(shown.text)
    whole = [m for m in shown.marks if m.kind in {"code", "pre"}]
    for mark in shown.marks:
        for code in whole:
            others = mark is not code and mark.kind not in {"blockquote", "text_link"}
            assert not others or mark.end <= code.start or mark.start >= code.end
    parts = shown.cut(limit)
    for part in parts:
        assert part.text.strip()
        assert units(part.text) <= limit
        assert all(0 <= m.start < m.end <= len(part.text) for m in part.marks)
    assert "".join("".join(p.text.split()) for p in parts) == "".join(shown.text.split())


def test_code_within_long_lists_is_kept_free_of_other_marks() -> None:
    shown = formatted("- **a `b` c `d`** *`e`*\n" * 500)
    kinds = {(kind, part) for kind, part, _ in marked(shown)}
    assert kinds == {("bold", "a "), ("bold", " c "), ("code", "b"), ("code", "d"), ("code", "e")}


def test_of_very_many_marks_those_are_kept_that_a_text_needs_most() -> None:
    shown = formatted("**b** `c` " * 80 + "[a](https://x.org)")
    kept = [(mark.kind, offset) for mark, offset, _ in shown.entities()]
    assert len(kept) == 100
    assert kept == sorted(kept, key=lambda each: each[1])
    kinds = [kind for kind, _ in kept]
    assert (kinds.count("code"), kinds.count("bold"), kinds[-1]) == (80, 19, "text_link")


def test_plain_text_has_the_addresses_of_links() -> None:
    shown = formatted(
        "See [the **report**](https://x.org/r), [x.org](https://x.org) and <https://y.org>."
    )
    assert shown.plain == (
        "See the report (https://x.org/r), x.org (https://x.org) and https://y.org."
    )


def test_no_link_of_many_is_lost() -> None:
    links = {f"w{n}": f"https://example.org/{'p' * 40}/{n}" for n in range(400)}
    parts = formatted(" ".join(f"[{words}]({url})" for words, url in links.items())).cut()
    found = {}
    for part in parts:
        marks = list(part.entities())
        assert len(marks) <= MOST_MARKS
        as_json = [{"type": m.kind, "offset": o, "length": n, "url": m.detail} for m, o, n in marks]
        assert len(json.dumps(as_json)) < 9500
        found |= {part.text[m.start : m.end]: m.detail for m, _, _ in marks}
    assert found == links
    assert " ".join(part.text for part in parts).split() == list(links)


def test_links_come_before_other_marks() -> None:
    lines = [f"- **item {n}** has `code{n}`" for n in range(60)]
    [part] = formatted("\n".join([*lines, "[a](https://x.org/a)"])).cut()
    assert [m.detail for m, _, _ in part.entities() if m.kind == "text_link"] == ["https://x.org/a"]
