"""Markdown of unknown origin becomes harmless blocks and loses nothing."""

import time

import pytest

from hermes_desktop.ui.transcript.blocks.blocks import (
    CodeBlock,
    RuleBlock,
    TableBlock,
    TextBlock,
    plain_text,
    spans_text,
)
from hermes_desktop.ui.transcript.blocks.markdown_blocks import (
    MAX_CELL,
    MAX_PARAGRAPH,
    MAX_TABLE_CELLS,
    MAX_TABLE_ROWS,
    parse_markdown,
    parse_plain,
    safe_link,
)


def text_of(markdown: str) -> str:
    return "\n".join(
        spans_text(block.spans)
        for block in parse_markdown(markdown)
        if isinstance(block, TextBlock)
    )


def only_paragraph(markdown: str) -> TextBlock:
    (block,) = parse_markdown(markdown)
    assert isinstance(block, TextBlock)
    return block


def test_looks_become_spans() -> None:
    spans = only_paragraph("a **b** *c* ~~d~~ `e` [f](https://g.example)").spans
    assert [(s.text, s.bold, s.italic, s.strike, s.code, s.link) for s in spans] == [
        ("a ", False, False, False, False, ""),
        ("b", True, False, False, False, ""),
        (" ", False, False, False, False, ""),
        ("c", False, True, False, False, ""),
        (" ", False, False, False, False, ""),
        ("d", False, False, True, False, ""),
        (" ", False, False, False, False, ""),
        ("e", False, False, False, True, ""),
        (" ", False, False, False, False, ""),
        ("f", False, False, False, False, "https://g.example"),
    ]


def test_every_kind_of_block() -> None:
    blocks = parse_markdown(
        "## Head\n\ntext\n\n> quoted\n\n---\n\n| a | b |\n|--|-:|\n| 1 | 2 |\n\n```py\nx = 1\n```\n"
    )
    head, text, quote, rule, table, code = blocks
    assert isinstance(head, TextBlock)
    assert head.heading == 2
    assert isinstance(text, TextBlock)
    assert isinstance(quote, TextBlock)
    assert quote.quote == 1
    assert isinstance(rule, RuleBlock)
    assert isinstance(table, TableBlock)
    assert table.aligns == ("left", "right")
    assert [spans_text(cell) for cell in table.rows[0]] == ["1", "2"]
    assert code == CodeBlock("py", "x = 1")


def test_lists_keep_numbers_depth_and_code_inside() -> None:
    blocks = parse_markdown("3. one\n   ```\n   code\n   ```\n4. two\n   - deep\n   - [x] done\n")
    one, code, two, deep, done = blocks
    assert isinstance(one, TextBlock)
    assert one.item is not None
    assert one.item.number == 3
    assert code == CodeBlock("", "code", indent=1)
    assert isinstance(two, TextBlock)
    assert two.item is not None
    assert (two.item.key, two.item.number) == (one.item.key, 4)
    assert isinstance(deep, TextBlock)
    assert deep.indent == 2
    assert isinstance(done, TextBlock)
    assert spans_text(done.spans) == "☑ done"


def test_an_item_that_begins_with_code_keeps_its_bullet() -> None:
    bullet, code = parse_markdown("- ```\n  x\n  ```\n")
    assert isinstance(bullet, TextBlock)
    assert bullet.item is not None
    assert isinstance(code, CodeBlock)


def test_short_lines_stay_broken_and_wrapped_ones_flow() -> None:
    assert text_of("Roses are red\nViolets are blue") == "Roses are red\nViolets are blue"
    long_line = "This line was broken by a program that wraps at seventy columns or"
    assert text_of(f"{long_line}\nso.") == f"{long_line} so."


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<img src=http://evil.example/x.png onerror=alert(1)>",
        "<a href='file:///etc/passwd'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](file:///etc/passwd)",
        "[x](data:text/html;base64,AAAA)",
        "<javascript:alert(1)>",
        "[x](vbscript:x)",
    ],
)
def test_what_could_run_or_open_files_is_only_text(evil: str) -> None:
    blocks = parse_markdown(evil)
    spans = [span for block in blocks if isinstance(block, TextBlock) for span in block.spans]
    assert not any(span.link for span in spans)
    assert "".join(span.text for span in spans) == evil


def test_other_schemes_show_their_target() -> None:
    (span,) = only_paragraph("[click](ftp://host/file)").spans
    assert (span.text, span.link) == ("click (ftp://host/file)", "")


def test_pictures_are_named_not_loaded() -> None:
    (span,) = only_paragraph("![a cat](http://tracker.example/cat.png)").spans
    assert span.text == "[image: a cat http://tracker.example/cat.png]"
    assert span.link == "http://tracker.example/cat.png"


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://a.example/b?c=d#e", True),
        ("http://a.example", True),
        ("mailto:a@b.example", True),
        ("HTTPS://A.EXAMPLE", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("//a.example", False),
        ("https://a b", False),
        ("", False),
    ],
)
def test_addresses_that_may_be_opened(address: str, safe: bool) -> None:
    assert bool(safe_link(address)) is safe


@pytest.mark.parametrize(
    "monster",
    [
        ">" * 10_000 + " deep",
        "- " * 5_000 + "deep",
        "[" * 10_000 + "deep" + "]" * 10_000,
        "![" * 10_000 + "deep",
        "*a " * 10_000 + "deep",
        "`a `` " * 5_000 + "deep",
        "(" * 10_000 + "deep",
        "\n".join("  " * depth + "- deep" for depth in range(400)),
        "&" * 10_000 + "deep",
        "<" * 10_000 + "deep",
        "|deep" * 5_000 + "\n" + "|-" * 5_000 + "\n|x\n",
    ],
)
def test_monsters_end_soon_and_lose_no_text(monster: str) -> None:
    begin = time.process_time()
    blocks = parse_markdown(monster)
    assert time.process_time() - begin < 20  # quadratic work takes minutes at ten times the size
    assert "deep" in plain_text(blocks)


def test_one_line_of_a_megabyte_comes_in_pieces() -> None:
    blocks = parse_markdown("word " * 200_000)
    sizes = [len(spans_text(block.spans)) for block in blocks if isinstance(block, TextBlock)]
    assert max(sizes) <= MAX_PARAGRAPH
    assert sum(sizes) >= 999_999


def test_a_long_table_comes_in_parts_with_one_header() -> None:
    rows = "".join(f"| {n} |\n" for n in range(150))
    parts = parse_markdown(f"| n |\n|---|\n{rows}")
    assert all(isinstance(part, TableBlock) for part in parts)
    tables = [part for part in parts if isinstance(part, TableBlock)]
    assert [bool(table.header) for table in tables] == [True, False, False]
    assert sum(len(table.rows) for table in tables) == 150
    assert max(len(table.rows) for table in tables) == MAX_TABLE_ROWS


def test_a_wide_table_comes_in_parts_of_few_rows() -> None:
    row = "|" + "x|" * 40 + "\n"
    tables = parse_markdown(row + "|" + "-|" * 40 + "\n" + row * 60)
    assert all(isinstance(part, TableBlock) for part in tables)
    sizes = [len(part.rows) * 40 for part in tables if isinstance(part, TableBlock)]
    assert max(sizes) == MAX_TABLE_CELLS
    assert sum(sizes) == 60 * 40


def test_a_row_with_an_overlong_cell_becomes_plain_lines() -> None:
    long = "y" * (MAX_CELL + 1)
    rows = f"| a | b |\n|---|---|\n| 1 | 2 |\n| {long} | 3 |\n| 4 | 5 |\n"
    first, plain, last = parse_markdown(rows)
    assert isinstance(first, TableBlock)
    assert isinstance(plain, TextBlock)
    assert isinstance(last, TableBlock)
    assert (bool(first.header), len(first.rows)) == (True, 1)
    assert spans_text(plain.spans) == f"{long}\t3"
    assert (last.header, len(last.rows)) == ((), 1)


def test_an_overlong_heading_of_a_table_becomes_a_plain_line() -> None:
    long = "y" * (MAX_CELL + 1)
    plain, table = parse_markdown(f"| {long} |\n|---|\n| 1 |\n")
    assert isinstance(plain, TextBlock)
    assert spans_text(plain.spans) == long
    assert isinstance(table, TableBlock)
    assert not table.header


def test_overrides_escapes_and_control_characters_are_shown() -> None:
    text = text_of("evil \u202e gpj.exe \x1b[31mred\x07 \u2067x\u2069")
    assert text == "evil ⟨RLO⟩ gpj.exe ␛[31mred␇ ⟨RLI⟩x⟨PDI⟩"


def test_a_lone_surrogate_does_no_harm() -> None:
    text_of("a \ud800 b").encode()
    parse_plain("a \udfff b")[0]


def test_typed_text_is_not_markdown_but_its_fences_are_code() -> None:
    blocks = parse_plain("# not a heading\n*stars*\n\n```sh\nls *\n```\nafter")
    first, code, last = blocks
    assert isinstance(first, TextBlock)
    assert spans_text(first.spans) == "# not a heading\n*stars*"
    assert code == CodeBlock("sh", "ls *")
    assert isinstance(last, TextBlock)
    assert spans_text(last.spans) == "after"


def test_an_open_fence_in_typed_text_is_code_to_the_end() -> None:
    assert parse_plain("```\na\nb") == (CodeBlock("", "a\nb"),)


def test_plain_text_has_bullets_and_tabs() -> None:
    blocks = parse_markdown("1. one\n   - two\n\n| a | b |\n|--|--|\n| c | d |\n")
    assert plain_text(blocks) == "1. one\n  • two\na\tb\nc\td"
