"""Pictures of the page in all its states, for people to look at (.ci/out/screens)."""

from pathlib import Path

import pytest
from PySide6.QtGui import QColor

from hermes_desktop.core.events import TurnDelta, TurnFinished, TurnQueued, TurnStarted
from tests.fakes.chat_stage import ChatStage

SCREENS = Path(__file__).parents[3] / ".ci" / "out" / "screens"

REPLY = """The early one fits. In **short**, with `seat_61` and a [timetable](https://example.org/a):

## Options

| Train | Leaves | Arrives | Price |
|:--|:-:|:-:|--:|
| ICE 512 | 06:12 | 08:41 | 49,90 € |
| ICE 690 | 06:48 | 09:20 | **39,90 €** |
| RE 7 and ICE 371, one change | 05:30 | 08:59 | 27,00 € |

> The early train is fuller on Mondays.
> It has a dining car.

1. Buy the ticket
   - with a seat
   - [x] without insurance
2. Set an alarm

   ```python
   async def lengths(names: list[str]) -> dict[str, int]:
       \"\"\"Count the letters.\"\"\"
       return {name: len(name) for name in names if name}  # one line that is wider than the page
   ```
3. Sleep

---

القطار الأول يصل قبل التاسعة مع `code` وكلمات English في الوسط.

- المقعد بجانب النافذة
- رכבת בוקר

始発は八時四十一分に着きます。中文也可以。한국어도 됩니다.

<script>alert(1)</script> ![pic](http://tracker.example/z.png) \u202e gpj.exe \x1b[31mred\x1b[0m
"""


def call(call_id: str, name: str, arguments: str) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tell_story(stage: ChatStage, begin: float) -> None:
    """One session with everything worth seeing."""
    with stage.another_program() as db:
        db.create_session("s", "telegram", model="gpt-x")
        db.set_session_title("s", "Trip to Hamburg")
        add = db.append_message
        add("s", "system", "You are Hermes.", timestamp=begin)
        add(
            "s",
            "user",
            "Which train arrives before nine?\nSee:\n```sh\nls -la\n```",
            timestamp=begin,
        )
        calls = [
            call("c1", "terminal", '{"command": "ls -la /tmp && cat trains.txt"}'),
            call("c2", "web_fetch", '{"url": "https://bahn.example/timetable?from=Berlin"}'),
        ]
        thinking = "The person wants a train. I should **look** it up."
        add("s", "assistant", "Let me look.", tool_calls=calls, reasoning=thinking, timestamp=begin)
        add("s", "tool", '{"output": "total 12\\ntrains.txt", "exit_code": 0}',
            tool_call_id="c1", timestamp=begin + 0.8)  # fmt: skip
        add("s", "tool", '{"error": "HTTP 503", "exit_code": 1}',
            tool_call_id="c2", timestamp=begin + 12)  # fmt: skip
        add("s", "assistant", REPLY, timestamp=begin + 90_000)


def save(stage: ChatStage, name: str) -> None:
    """Keep a picture, and make sure that it is none of an empty page."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    picture = stage.page.grab()
    assert picture.save(str(SCREENS / f"chat-{name}-{stage.theme.scheme}.png"))
    image = picture.toImage()
    seen = {image.pixelColor(x, y).name() for x in range(0, 860, 5) for y in range(0, 720, 5)}
    assert QColor(stage.theme.palette.base).name() in seen
    assert len(seen) > 4


@pytest.mark.asyncio
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pictures_of_every_state(stage: ChatStage, scheme) -> None:
    stage.theme.set_scheme(scheme)
    async with stage:
        page, bus = stage.page, stage.bus
        save(stage, "nothing")
        page.new_chat()
        await stage.until(page.empty.caption.text)
        save(stage, "new")
        tell_story(stage, 1_795_780_000.0)
        await stage.show("s")
        segments = [s for m in page.view.messages for s in m.segments if hasattr(s, "displayed")]
        coloured = [s for s in segments if s.block.language == "python"]
        await stage.until(
            lambda: all(s.text.document().firstBlock().layout().formats() for s in coloured)
        )
        save(stage, "end")
        bar = page.view.area.verticalScrollBar()
        for message in page.view.messages:
            for fold in message.folds:
                fold.button.click()
        bar.setValue(0)
        save(stage, "tools")
        bar.setValue(bar.maximum() // 2)
        save(stage, "table")
        bus.publish(TurnStarted("t", "k", "s", "And back on Sunday?"))
        bus.publish(TurnDelta("t", "s", "Let me think.", "reasoning"))
        bus.publish(TurnDelta("t", "s", "There are **three** trains back, and the first "))
        page.view.to_end()
        await stage.until(lambda: stage.texts()[-1].startswith("There"))
        save(stage, "streaming")
        bus.publish(TurnQueued("u", "k", "s", "And on Monday?"))
        bus.publish(
            TurnFinished(
                "t", "k", "s", None, "failed",
                error_title="Nobody answers at http://127.0.0.1:8080/v1.",
                error_detail="The connection was refused.",
                error_hint="Start the server, or set model.base_url to where it listens.",
            )
        )  # fmt: skip
        page.view.to_end()
        save(stage, "error")
        page.view.open_find()
        page.view.find_bar.line.setText("train")
        save(stage, "find")
        page.view.find_bar.close_bar()
        stage.paths.config_yaml.unlink()
        page.composer.set_text("What I typed is kept")
        page.composer.check_wanted.emit()
        await stage.until(page.composer.reason.isVisible)
        save(stage, "no-model")
