"""The user guide in the program."""

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMessageBox

from hermes_desktop.core.files.shipped_files import shipped_path
from hermes_desktop.ui.chat.link_confirmation import LinkQuestion
from hermes_desktop.ui.shell.guide_dialog import GuideDialog, guide_chapters
from hermes_desktop.ui.transcript.blocks.blocks import TextBlock, plain_text, spans_text
from tests.support.waiting import until

TEXT = """\
# Guide

Read [the settings](settings.md#model) and [a page](https://example.org/).

## Install

![A picture](../picture.png)

```bash
run
```
"""


def test_chapters_have_words_for_links_to_files_and_no_pictures() -> None:
    first, second, *_ = guide_chapters(TEXT)

    assert (first.title, second.title) == ("Guide", "Install")
    assert "Read the settings and [a page](https://example.org/)." in first.text
    assert "picture" not in second.text


def test_every_heading_of_the_shipped_guide_is_a_chapter() -> None:
    text = shipped_path("docs", "guide.md").read_text(encoding="utf-8")
    chapters = guide_chapters(text)

    assert [each.title for each in chapters[1:]] == [
        line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")
    ]
    assert not [each.title for each in chapters if "](.." in each.text or "![" in each.text]


@pytest.mark.asyncio
async def test_a_chosen_chapter_is_shown_whole_at_any_width(qtbot, theme, slots) -> None:
    guide = GuideDialog(theme, slots)
    qtbot.addWidget(guide)
    guide.show()
    titles = [guide.list.item(row).text() for row in range(guide.list.count())]
    guide.list.setCurrentRow(titles.index("Choose a model"))

    (heading,) = [b for b in guide.page.body.blocks if isinstance(b, TextBlock) and b.heading == 1]
    assert spans_text(heading.spans) == "Choose a model"
    assert "hermes-desktop models local" in plain_text(guide.page.body.blocks)
    wide = guide.page.widget().height()
    guide.resize(QSize(560, 500))
    await until(lambda: guide.page.widget().height() > wide)
    assert guide.page.widget().width() == guide.page.viewport().width()
    assert guide.page.body.geometry().right() < guide.page.viewport().width()
    theme.set_scheme("dark")
    assert "hermes-desktop models local" in plain_text(guide.page.body.blocks)
    guide.close()


@pytest.mark.asyncio
async def test_a_link_opens_only_after_a_question(qtbot, theme, slots) -> None:
    guide = GuideDialog(theme, slots)
    qtbot.addWidget(guide)
    guide.show()
    guide.page.link_wanted.emit("https://t.me/BotFather")
    await until(lambda: any(box.isVisible() for box in guide.findChildren(QMessageBox)))
    (box,) = guide.findChildren(LinkQuestion)
    assert "https://t.me/BotFather" in box.informativeText()
    box.reject()
    await until(lambda: not guide.findChildren(LinkQuestion))
    guide.close()
