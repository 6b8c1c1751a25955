"""Finding in what is loaded."""

from PySide6.QtCore import Qt


def test_hits_are_counted_from_the_newest_and_brought_into_view(view, show, row, qtbot) -> None:
    messages = [
        row(n, "assistant", f"Filler number {n}.\n\n```\ncode {n}\n```") for n in range(1, 60)
    ]
    messages[3] = row(4, "user", "the needle is here")
    messages[40] = row(41, "assistant", "A NEEDLE, and another needle")
    show(messages)
    view.open_find()
    view.find_bar.line.setText("needle")
    assert view.find_bar.count.text() == "3 of 3"
    hit = view.area.column.item("m41")
    bar = view.area.verticalScrollBar()
    assert bar.value() < hit.bottom
    assert bar.value() + view.area.viewport().height() > hit.y
    qtbot.keyClick(view.find_bar.line, Qt.Key.Key_Return)
    assert view.find_bar.count.text() == "1 of 3"
    assert bar.value() < view.area.column.item("m4").bottom
    qtbot.keyClick(view.find_bar.line, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.find_bar.count.text() == "3 of 3"
    text = view.area.column.item("m41").widget.segments[0].text
    assert text.textCursor().selectedText() == "needle"


def test_code_is_searched_too(view, show, row) -> None:
    show([row(1, "assistant", "x\n\n```\nsecret_name = 1\n```")])
    view.open_find()
    view.find_bar.line.setText("SECRET_name")
    assert view.find_bar.count.text() == "1 of 1"


def test_nothing_found_and_nothing_typed(view, show, row) -> None:
    show([row(1)])
    view.open_find()
    view.find_bar.line.setText("zebra")
    assert view.find_bar.count.text() == "No hits"
    view.find_bar.step()
    view.find_bar.line.setText("")
    assert view.find_bar.count.text() == ""


def test_escape_closes_only_the_bar(view, show, row, qtbot) -> None:
    show([row(1)])
    view.open_find()
    assert view.find_bar.isVisible()
    qtbot.keyClick(view.find_bar.line, Qt.Key.Key_Escape)
    assert not view.find_bar.isVisible()
    assert view.isVisible()
