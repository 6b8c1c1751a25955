"""What is said before a window without a tray goes."""

import pytest
from PySide6.QtWidgets import QWidget

from hermes_desktop.ui.shell.closing_question import CloseDialog, ClosingRules


@pytest.fixture
def parent(qtbot) -> QWidget:
    parent = QWidget()
    qtbot.addWidget(parent)
    return parent


def test_nothing_runs_and_nothing_more_is_said(parent) -> None:
    words = CloseDialog(parent).informativeText()
    assert "gateway" not in words
    assert "running" not in words.split("If Hermes keeps running", 1)[1]


def test_what_would_end_with_the_program_is_named(parent) -> None:
    words = CloseDialog(parent, running=2, serving=True, beside=3).informativeText()
    assert "Quitting ends 3 background processes." in words
    assert (
        "If you quit, the gateway stops and messages from platforms are no longer answered."
        in words
    )
    assert words.endswith("2 replies are running; they have 15 seconds to finish when you quit.")


def test_closing_ends_the_program_where_that_is_set(parent, qtbot) -> None:
    rules = ClosingRules(parent, lambda: True, None, lambda: None)
    parent.show()
    with qtbot.assertNotEmitted(rules.quit_wanted):
        rules.close_wanted()
    assert not parent.isVisible()
    parent.show()
    rules.keeps_running = False
    with qtbot.waitSignal(rules.quit_wanted, timeout=60_000):
        rules.close_wanted()
    assert parent.isVisible()  # until the program has ended
