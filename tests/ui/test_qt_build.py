"""The installed Qt for Python keeps its books: no call may lose references to None or True.

A build that does aborts the process after some thousand calls, far from the culprit. On Python
3.12 and later these objects live for ever, and the test cannot fail.
"""

import sys
from collections.abc import Callable

import pytest
from PySide6.QtCore import QObject, Signal

CALLS = 400
SLACK = 40
"""Other code may take or drop a few references meanwhile; a broken build loses one per call."""


class Sender(QObject):
    told = Signal(bool)


def drift(of: object, call: Callable[[], object]) -> int:
    """How many references are there less after the calls."""
    call()
    before = sys.getrefcount(of)
    for _ in range(CALLS):
        call()
    return before - sys.getrefcount(of)


@pytest.mark.parametrize("singleton", [None, True], ids=["none", "true"])
def test_calls_lose_no_reference(qapp, singleton: object) -> None:
    sender = Sender()
    sender.told.connect(lambda _: None)
    calls: list[Callable[[], object]] = [
        lambda: sender.setObjectName("name"),
        lambda: sender.told.emit(True),
        lambda: sender.blockSignals(False),
        lambda: qapp.setQuitOnLastWindowClosed(False),
    ]
    for call in calls:
        assert abs(drift(singleton, call)) <= SLACK
