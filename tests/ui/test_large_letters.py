"""With letters of 16 points, what does not fit ends with an ellipsis and nothing else is cut."""

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.ui.chat.header.chat_header import ChatHeader
from hermes_desktop.ui.gateway.status_strip import StatusStrip
from hermes_desktop.ui.transcript.blocks.tool_calls import ToolCall
from hermes_desktop.ui.transcript.tool_fold import ToolLine
from hermes_desktop.ui.widgets.look import Look
from tests.fakes.fitting import letters

WIDTH = 612
"""What a window of 720 pixels leaves for the messages."""


@pytest.fixture(autouse=True)
def large(qapp):
    with letters(16 / QApplication.font().pointSizeF()):
        yield


def test_mark_and_time_of_a_failed_call_are_whole(qtbot, theme) -> None:
    why = "remote: the branch main is protected; open a merge request to change it"
    call = ToolCall(
        "c", "terminal", "git push origin main --force-with-lease", "{}", "…", False, 1.7, why
    )
    line = ToolLine(call, Look.of(theme.palette))
    qtbot.addWidget(line)
    line.resize(WIDTH, line.fit(WIDTH))
    line.show()
    texts = [text for _, _, text in line.button._pieces()]
    assert texts[0] == "terminal"
    assert texts[-2:] == ["1.7 s", "✗"]
    assert texts[-3].startswith("remote: the branch")
    assert texts[-3].endswith("…")
    picture = line.button.grab().toImage()
    error = QColor(theme.palette.error).rgb()
    ends = range(picture.width() - 60, picture.width())
    assert any(picture.pixel(x, y) == error for x in ends for y in range(picture.height()))


def test_facts_in_the_header_end_with_an_ellipsis(qtbot, theme) -> None:
    header = ChatHeader(theme)
    qtbot.addWidget(header)
    facts = "Terminal · 11 messages · hermes-4-14b · about 573 tokens of 128,000"
    header.set_words("Flaky test", facts, renameable=True)
    header.resize(WIDTH, 90)
    header.show()
    assert header.facts.shown_text().endswith("…")
    assert header.facts.text() == facts
    assert facts in header.facts.toolTip()
    header.resize(1600, 90)
    assert header.facts.shown_text() == facts


def test_the_strip_is_as_high_as_its_letters(qtbot, theme) -> None:
    strip = StatusStrip(theme)
    qtbot.addWidget(strip)
    strip.show_status(GatewayStatusChanged("running"), now=0.0)
    strip.resize(WIDTH, strip.sizeHint().height())
    strip.show()
    assert strip.line.height() >= strip.line.fontMetrics().height()
