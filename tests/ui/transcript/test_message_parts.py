"""Text, code, tables, tool lines: what a person sees and can do, whatever the content."""

import json

import pytest
from PySide6.QtCore import QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QTextCursor, QTextDocument
from PySide6.QtTest import QTest

from hermes_desktop.ui.transcript.blocks.code_block import LONGEST_LINE, CodeSegment
from hermes_desktop.ui.transcript.blocks.fold import ActionRow
from hermes_desktop.ui.transcript.blocks.text_block import TableSegment, TextSegment
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.parsing import SHOWN_AT_FIRST

MONSTERS = {
    "script": "<script>alert(1)</script><style>*{display:none}</style>",
    "image": '<img src="http://tracker.example/x.png">![x](http://tracker.example/y.png)',
    "links": "[a](javascript:alert(1)) [b](file:///etc/passwd) <javascript:x>",
    "quotes": ">" * 10_000 + " deep",
    "brackets": "[" * 10_000 + "deep",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "overrides": "invoice \u202egpj.exe and \u2066more\u2069",
    "controls": "".join(map(chr, range(32))) + "\x7f\ufdd0\ufdd1\ufffc\u2028\u2029",
    "surrogate": "lone \ud800 one",
    "line": "x" * 1_000_000,
    "code line": "```\n" + "y" * 300_000 + "\n```",
    "table": "|a" * 200 + "\n" + "|-" * 200 + "\n" + "|1" * 200,
    "zalgo": "a" + "\u0301" * 5_000,
    "html entities": "&lt;b&gt; &amp; &#x202E; &nbsp;",
}


def only(view) -> MessageWidget:
    (widget,) = view.messages
    return widget


@pytest.mark.parametrize("role", ["assistant", "user", "system", "tool", "martian"])
@pytest.mark.parametrize("name", MONSTERS)
def test_hostile_content_is_shown_as_text(view, show, row, name: str, role: str) -> None:
    show([row(1, role, MONSTERS[name])])
    widget = only(view)
    for segment in widget.segments:
        document = segment.text.document()
        assert document.allFormats() is not None
        assert not any(fmt.isImageFormat() for fmt in document.allFormats())
        links = {fmt.toCharFormat().anchorHref() for fmt in document.allFormats()} - {""}
        assert all(link.startswith(("http://", "https://", "mailto:")) for link in links)
        shown = segment.text.toPlainText()
        assert not set(shown) & {"\u202e", "\u2066", "\x1b", "\x07"}
    view.grab()


def test_documents_load_nothing(view, show, row) -> None:
    show([row(1, "assistant", "![x](http://tracker.example/y.png)")])
    text = only(view).segments[0].text
    kind = int(QTextDocument.ResourceType.ImageResource.value)
    assert text.loadResource(kind, QUrl("file:///etc/passwd")) is None


def test_a_link_shows_its_target_and_asks(view, show, row, qtbot) -> None:
    show([row(1, "assistant", "[my bank](https://evil.example/login)")])
    text = only(view).segments[0].text
    cursor = QTextCursor(text.document())
    cursor.setPosition(3)
    assert cursor.charFormat().toolTip() == "https://evil.example/login"
    place = text.cursorRect(cursor).center()
    with qtbot.waitSignal(view.link_wanted, timeout=60_000) as signal:
        QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert signal.args == ["https://evil.example/login"]
    assert text.source().isEmpty()


def test_paragraphs_find_their_direction_and_code_stays_left_to_right(view, show, row) -> None:
    show([row(1, "assistant", "Hello.\n\nمرحبا بالعالم\n\n```\nمرحبا = 1\n```")])
    text, code = only(view).segments
    first = text.text.document().firstBlock()
    assert first.textDirection() == Qt.LayoutDirection.LeftToRight
    assert first.next().textDirection() == Qt.LayoutDirection.RightToLeft
    option = code.text.document().defaultTextOption()
    assert option.textDirection() == Qt.LayoutDirection.LeftToRight


@pytest.mark.parametrize(("text", "rtl"), [("> quoted words", False), ("> מילים בציטוט", True)])
def test_the_line_of_a_quote_stands_where_its_lines_begin(view, show, row, text, rtl) -> None:
    show([row(1, "assistant", text)])
    written = only(view).segments[0].text
    block = written.document().firstBlock().blockFormat()
    assert (block.rightMargin() > 0, block.leftMargin() > 0) == (rtl, not rtl)
    picture = written.viewport().grab().toImage()
    middle, wanted = picture.height() // 2, written.line_colour.rgb()
    x = picture.width() - 4 if rtl else 3
    assert picture.pixel(x, middle) == wanted
    assert picture.pixel(picture.width() - 1 - x, middle) != wanted


def test_texts_have_no_scroll_bars_and_fit_their_height(view, show, row) -> None:
    show([row(1, "assistant", "word " * 300 + "\n\n> quote\n\n1. one\n2. two")])
    (segment,) = only(view).segments
    assert isinstance(segment, TextSegment)
    assert segment.text.verticalScrollBar().maximum() == 0
    assert segment.text.height() >= segment.text.document().size().height()


def test_code_copies_as_written_and_says_so(view, show, row, qtbot) -> None:
    code = "def run():\n\treturn '\u202e'"
    show([row(1, "assistant", f"```python\n{code}\n```")])
    (segment,) = only(view).segments
    assert isinstance(segment, CodeSegment)
    assert segment._language.text() == "python"
    segment._copy.click()
    assert QGuiApplication.clipboard().text() == code
    assert segment._copy.text() == "Copied"
    qtbot.waitUntil(lambda: segment._copy.text() == "Copy", timeout=60_000)


def test_code_is_coloured_when_idle(view, show, row, qtbot) -> None:
    show([row(1, "assistant", "```python\ndef run():\n    return 1\n```")])
    (segment,) = only(view).segments
    block = segment.text.document().firstBlock()
    qtbot.waitUntil(lambda: len(block.layout().formats()) > 0, timeout=60_000)
    assert segment.text.toPlainText() == "def run():\n    return 1"


def test_wide_code_scrolls_sideways_and_long_lines_are_broken(view, show, row) -> None:
    show([row(1, "assistant", "```\n" + "x = 1; " * 100 + "\n" + "y" * 5_000 + "\n```")])
    (segment,) = only(view).segments
    assert segment.text.horizontalScrollBar().maximum() > 0
    assert segment.text.verticalScrollBar().maximum() == 0
    assert max(map(len, segment.text.toPlainText().split("\n"))) <= LONGEST_LINE


def test_a_wide_table_scrolls_sideways(view, show, row) -> None:
    head = "|" + "|".join(f"a-long-heading-{n}" for n in range(20)) + "|"
    show([row(1, "assistant", f"{head}\n{'|-' * 20}|\n{'|x' * 20}|")])
    (segment,) = only(view).segments
    assert isinstance(segment, TableSegment)
    assert segment._frame.horizontalScrollBar().maximum() > 0


def call(name: str, arguments: str, call_id: str = "c") -> dict[str, object]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}}


def test_a_tool_line_opens_in_place(view, show, row) -> None:
    show(
        [
            row(1, "assistant", "Look.", tool_calls=(call("terminal", '{"command": "ls"}'),)),
            row(2, "tool", '{"output": "a.txt", "exit_code": 0}', tool_call_id="c"),
        ]
    )
    widget = only(view)
    (fold,) = widget.folds
    assert fold.button.accessibleName() == "Tool terminal, ls, 60 s, succeeded, collapsed"
    height = widget.height()
    fold.button.click()
    assert widget.height() > height
    assert fold.button.accessibleName().endswith("expanded")
    texts = [segment.text.toPlainText() for segment in widget.segments]
    assert texts == ["Look.", "ls", "a.txt"]
    fold.button.click()
    assert widget.height() == height


def test_opening_a_line_above_does_not_move_what_is_below_the_top(view, show, row, rows) -> None:
    messages = [
        row(1, "assistant", "Look.", tool_calls=(call("terminal", '{"command": "ls"}'),)),
        row(2, "tool", "long\n" * 40, tool_call_id="c"),
        *rows(3, 60),
    ]
    show(messages)
    bar = view.area.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    item = view.area.column.item("m30")
    before = item.y - bar.value()
    next(view.messages).folds[0].button.click()
    assert item.y - bar.value() == before


def test_a_large_result_is_cut_until_all_of_it_is_asked_for(view, show, row, qtbot) -> None:
    output = "line of output\n" * 20_000
    show(
        [
            row(1, "assistant", "Look.", tool_calls=(call("terminal", "{}"),)),
            row(2, "tool", json.dumps({"output": output, "exit_code": 1}), tool_call_id="c"),
        ]
    )
    (fold,) = only(view).folds
    fold.button.click()
    panel, more = fold.inside.rows
    assert isinstance(panel, CodeSegment)
    assert isinstance(more, ActionRow)
    assert len(panel.text.toPlainText()) <= 4_000
    panel.copy_code()
    assert QGuiApplication.clipboard().text().count("line of output") == 20_000
    more.button.click()
    qtbot.waitUntil(
        lambda: panel.text.toPlainText().count("line of output") == 20_000, timeout=60_000
    )
    assert more.isHidden()


@pytest.mark.timeout(300)
def test_a_very_long_message_is_shown_in_parts(view, show, row, qtbot) -> None:
    text = "A paragraph of some words.\n\n" * 8_000
    show([row(1, "assistant", text)])
    widget = only(view)
    assert widget.shown_characters <= SHOWN_AT_FIRST
    assert widget._more is not None
    for _ in range(3):
        if widget._more is None:
            break
        shown = widget.shown_characters
        widget._more.button.click()
        qtbot.waitUntil(lambda shown=shown: widget.shown_characters > shown, timeout=60_000)
        qtbot.waitUntil(
            lambda: widget._more is None or widget._more.button.isEnabled(), timeout=60_000
        )
    qtbot.waitUntil(lambda: widget.plain().count("paragraph") == 8_000, timeout=60_000)


def test_thinking_is_folded(view, show, row) -> None:
    show([row(1, "assistant", "Answer.", reasoning="Let me **think**.")])
    widget = only(view)
    assert [s.text.toPlainText() for s in widget.segments] == ["Answer."]
    widget._thinking_fold.button.click()
    assert [s.text.toPlainText() for s in widget.segments] == ["Let me think.", "Answer."]


def test_pictures_are_counted_in_words(view, show, row) -> None:
    show([row(1, "user", "See", parts=[{"type": "image_url"}, {"type": "image"}])])
    labels = [row.label.text() for row in only(view).rows if hasattr(row, "label")]
    assert labels == ["[2 pictures]"]


def test_the_line_is_drawn_in_both_directions(view, show, row) -> None:
    show([row(1, "assistant", "x", tool_calls=(call("t", '{"command": "y"}'),))])
    button = only(view).folds[0].button
    plain = button.grab().toImage()
    button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert button.grab().toImage() != plain
    assert button.sizeHint().height() >= QSize(24, 24).height()
    assert button.mapToParent(QPoint(0, 0)).y() >= 0
