"""A reply that streams ends up as the same blocks as one that is read whole."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.ui.transcript.blocks.blocks import (
    Block,
    CodeBlock,
    TableBlock,
    TextBlock,
    plain_text,
)
from hermes_desktop.ui.transcript.blocks.markdown_blocks import parse_markdown
from hermes_desktop.ui.transcript.blocks.markdown_stream import TAIL_LIMIT, MarkdownStream

SAMPLE = """# Title *x*

para `c` <b>no</b>
# Head right after

3. one

   ```python
   x=1
   ```
   more
4. two
   - [ ] n

> q
> > qq
lazy

|a|b|
|-|-:|
|1|**2**|

---
```py
a = 1
  ``x
~~~
b
```
after
~~~
tilde
```
~~~

Setext
===

text
- item
- item2
"""


def streamed(text: str, sizes: random.Random | None = None, size: int = 60) -> list[Block]:
    stream = MarkdownStream()
    blocks: list[Block] = []
    position = 0
    while position < len(text):
        step = sizes.randint(1, 9) if sizes is not None else size
        stream.feed(text[position : position + step])
        position += step
        blocks += stream.advance().finished
    return blocks + list(stream.finish().finished)


@pytest.mark.parametrize("seed", range(60))
def test_pieces_of_any_size_give_the_blocks_of_the_whole(seed: int) -> None:
    assert tuple(streamed(SAMPLE, random.Random(seed))) == parse_markdown(SAMPLE)


@given(
    lines=st.lists(
        st.sampled_from(
            [
                "a",
                "# h",
                "- i",
                "1. n",
                "> q",
                "```",
                "~~~",
                "| x |",
                "|-|",
                "---",
                "===",
                "",
                "  b",
            ]
        ),
        max_size=25,
    ),
    seed=st.integers(0, 1000),
)
@settings(max_examples=200, deadline=None)
def test_any_mixture_of_lines_keeps_its_text(lines: list[str], seed: int) -> None:
    text = "\n".join(lines)
    pieces = streamed(text, random.Random(seed))
    assert plain_text(pieces) == plain_text(parse_markdown(text))


def test_finished_blocks_are_final_and_only_the_tail_changes() -> None:
    stream = MarkdownStream()
    stream.feed("one\n\ntwo\n\nthr")
    update = stream.advance()
    assert plain_text(update.finished) == "one"
    assert plain_text(update.tail) == "two\nthr"  # a line that is not complete decides nothing
    stream.feed("ee\n\nfour\n")
    update = stream.advance()
    assert plain_text(update.finished) == "two\nthree"
    assert plain_text(update.tail) == "four"


def test_a_line_that_is_not_complete_finishes_nothing() -> None:
    """``a`` and then ``#``: a heading so far, but ``#x`` would go on with the paragraph."""
    stream = MarkdownStream()
    stream.feed("a\n#")
    assert stream.advance().finished == ()
    stream.feed("x")
    assert plain_text(stream.advance().tail) == "a\n#x"


def test_an_open_fence_only_grows() -> None:
    stream = MarkdownStream()
    stream.feed("```py\na = 1\n")
    (first,) = stream.advance().tail
    stream.feed("b = 2\n``")
    (second,) = stream.advance().tail
    assert isinstance(first, CodeBlock)
    assert isinstance(second, CodeBlock)
    assert not second.closed
    assert second.text.startswith(first.text)
    assert second.text == "a = 1\nb = 2"  # what may become the closing fence is held back
    stream.feed("`\nafter")
    update = stream.advance()
    assert update.finished == (CodeBlock("py", "a = 1\nb = 2"),)
    assert plain_text(update.tail) == "after"


def test_a_long_list_is_cut_between_items_and_goes_on_counting() -> None:
    text = "".join(f"1. item {number} with some words\n" for number in range(600))
    blocks = streamed(text)
    assert len(text) > 4 * TAIL_LIMIT
    numbers = [block.item.number for block in blocks if isinstance(block, TextBlock) and block.item]
    assert numbers == list(range(1, 601))


def test_a_long_table_is_cut_between_rows() -> None:
    text = "| a | b |\n|--|--|\n" + "".join(f"| {n} | x |\n" for n in range(900))
    tables = [block for block in streamed(text) if isinstance(block, TableBlock)]
    assert sum(len(table.rows) for table in tables) == 900
    assert [bool(table.header) for table in tables].count(True) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "word " * 12_000,
        "x" * 60_000,
        "> quoted words\n" * 4_000,
        "- a\n" * 15_000,
        "[" * 60_000,
        ">" * 60_000,
        "```\n" + "code line\n" * 6_000,
        "plain words and **bold** ones\n\n" * 2_000,
    ],
)
def test_no_step_depends_on_how_long_the_reply_is(text: str) -> None:
    """CPU time of the worst step stays small, where parsing all of it again takes seconds."""
    stream = MarkdownStream()
    worst = 0.0
    for start in range(0, len(text), 300):
        stream.feed(text[start : start + 300])
        begin = time.thread_time()
        stream.advance()
        worst = max(worst, time.thread_time() - begin)
    assert worst < 1.0
