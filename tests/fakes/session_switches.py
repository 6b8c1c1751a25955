"""Repeated changes of the session in a window, and a count of the Qt objects left behind."""

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from hermes_desktop.state import SessionDB
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from tests.fakes.tracked_objects import tracked_of
from tests.fakes.window_stage import WindowStage

QUESTIONS = 6
TEXT = """Some **words** with a [link](https://example.org) and `code`.

```python
print("hello")
```

| a | b |
|---|---|
| 1 | 2 |
"""


def history_of(home: Path, sessions: int = 5) -> list[str]:
    """Write sessions with text, code, tables, reasoning and tool calls; return their ids."""
    home.mkdir(mode=0o700)
    db = SessionDB(home / "state.db")
    ids = [f"2026030{day}_120000_abcdef" for day in range(1, sessions + 1)]
    call = {"id": "c1", "type": "function", "function": {"name": "todo", "arguments": "{}"}}
    for session in ids:
        db.create_session(session, "desktop", model="fake-model")
        db.set_session_title(session, f"About {session}")
        for number in range(QUESTIONS):
            db.append_message(session, "user", f"Question {number} of {session}")
            db.append_message(session, "assistant", TEXT, reasoning="Because.", tool_calls=[call])
            db.append_message(session, "tool", "done", tool_call_id="c1", tool_name="todo")
    db.close()
    return ids


async def switch(stage: WindowStage, ids: list[str], times: int) -> None:
    """Open one session after the other, each until all of its messages are displayed."""
    for number in range(times):
        wanted = ids[number % len(ids)]
        stage.window.open_session(wanted)
        await stage.until(lambda wanted=wanted: _shows(stage, f"of {wanted}"))


def _shows(stage: WindowStage, words: str) -> bool:
    # Not by findChildren: Shiboken keeps its results until the window is destroyed.
    items = stage.window.page.view.area.column.items
    texts = [each.widget.plain() for each in items if isinstance(each.widget, MessageWidget)]
    return len(texts) == 2 * QUESTIONS and all(words in each for each in texts[::2])


def left_over(stage: WindowStage) -> int:
    """Return how many Qt objects with Python wrappers are deleted or belong to no window."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    known = tracked_of(QObject)
    deleted = sum(not isValid(each) for each in known)
    return deleted + sum(
        each.window() is not stage.window
        for each in known
        if isValid(each) and isinstance(each, QWidget)
    )
