"""The pages at the least size of the window, with letters of common and of large size."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.page_table import PAGES
from hermes_desktop.ui.settings.pages import page_column
from tests.fakes.fitting import cut_words, letters
from tests.ui.settings.conftest import SettingsStage

pytestmark = pytest.mark.asyncio

DAYS = "session_store_max_age_days"
SMALL = (672, 452)
"""What the window of 720 × 480 leaves for the view."""


@pytest.fixture(params=[1.0, 1.5, 1.8])
def stage(request, home, theme):
    (home / "config.yaml").write_text(
        f"{DAYS}: soon\nplatforms:\n  telegram:\n    enabled: true\nmine: 1\nmine: 2\n"
        "telegram:\n  allow_from: ['4711']\n"
    )
    with letters(request.param):
        yield SettingsStage(home, theme)


@pytest.mark.parametrize("direction", ["LeftToRight", "RightToLeft"])
async def test_no_page_cuts_words(stage: SettingsStage, direction: str) -> None:
    async with stage:
        stage.view.setLayoutDirection(Qt.LayoutDirection[direction])
        stage.view.resize(*SMALL)
        for entry in PAGES:
            stage.view.show_page(entry.name)
            stage.view.stack.column(entry.name).settle()
            await stage.until(lambda: not cut_words(stage.view))


async def test_the_bar_says_all_of_it(stage: SettingsStage) -> None:
    async with stage:
        stage.view.resize(*SMALL)
        stage.view.draft.give("session_reset.idle_minutes", "soon")
        stage.view.draft.give("agent.max_turns", "40")
        await stage.until(stage.view.bar.isVisible)
        await stage.until(lambda: not cut_words(stage.view.bar))
        assert "to correct first" in stage.view.bar.words.text()


async def test_a_broken_file_is_told_as_a_whole(stage: SettingsStage) -> None:
    stage.write("model:\n  default: x\n\tbad: 1\nother: 2\n")
    async with stage:
        stage.view.resize(*SMALL)
        await stage.until(stage.view.broken.lines.isVisible)
        await stage.until(lambda: not cut_words(stage.view.broken))


async def test_names_of_pages_are_whole(stage: SettingsStage) -> None:
    async with stage:
        stage.view.resize(*SMALL)
        pages = stage.view.list
        assert pages.viewport().width() >= pages.least_width()


async def test_hits_have_room_for_two_lines(stage: SettingsStage) -> None:
    async with stage:
        stage.view.search.setText("model")
        stage.view.search.textEdited.emit("model")
        found = stage.view.results.list
        line = found.fontMetrics().lineSpacing()
        assert found.visualItemRect(found.item(0)).height() > 1.8 * line
        stage.view.search.setText("xyzzy")
        stage.view.search.textEdited.emit("xyzzy")
        head = stage.view.results.head
        await stage.until(lambda: head.y() < 2 * line)
        assert "Other keys" in head.text()


async def test_pages_do_not_jump_sideways(stage: SettingsStage) -> None:
    """One with a scroll bar and one without begin at the same place."""
    async with stage:
        stage.view.resize(1070, 1200)
        edges = set()
        for name in ("assistant", "privacy"):
            stage.view.show_page(name)
            column = stage.view.stack.column(name)
            column.settle()
            bar = column.verticalScrollBar()
            await stage.until(lambda bar=bar, name=name: bool(bar.maximum()) == (name[0] == "a"))
            QApplication.sendPostedEvents()
            edges.add(column.parts[0].mapTo(stage.view, column.parts[0].rect().topLeft()).x())
        assert len(edges) == 1


async def test_a_managed_home_says_so_above_all_and_at_no_field(home, theme) -> None:
    (home / ".managed").write_text("")
    async with SettingsStage(home, theme) as stage:
        stage.view.show_setting(DAYS)
        field = next(each for each in stage.view.findChildren(FieldRow) if each.key == DAYS)
        assert ".managed" not in field.notes.words
        assert ".managed exists" in field.editor.widget.accessibleDescription()
        strip = stage.view.strip
        assert not strip.can_close
        assert not stage.view.step_back()
        strip.tell("ok", "Saved.", ())
        assert strip.can_close
        assert stage.view.step_back()
        assert ".managed exists" in strip.words
        assert strip.isVisible()


# With the largest letters the first rows are already higher than the window, as where no font is
# installed and Qt draws wide boxes.
@pytest.mark.parametrize("stage", [1.0, 1.5, 3.0], indirect=True)
async def test_a_page_that_is_being_filled_is_never_squeezed(
    stage: SettingsStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One step at a time, however fast this machine is.
    monkeypatch.setattr(page_column, "_FIRST_S", 0.0)
    monkeypatch.setattr(page_column, "_SOME_S", 0.0)
    async with stage:
        stage.view.show_page("assistant")
        column = stage.view.stack.column("assistant")
        looks = 0
        while column.growing:
            for row in column.findChildren(FieldRow):
                about = row.about
                room = about.height() >= about.heightForWidth(about.width())
                assert room or not about.isVisible(), row.key
            looks += 1
            await asyncio.sleep(0)
        assert looks


@pytest.mark.parametrize("stage", [2.6], indirect=True)
async def test_buttons_wrap_before_a_page_is_wider_than_the_window(stage: SettingsStage) -> None:
    async with stage:
        stage.view.resize(*SMALL)
        stage.view.show_page("assistant")
        column = stage.view.stack.column("assistant")
        column.settle()
        part = column.parts[0]
        await stage.until(lambda: part.look.y() > part.try_it.y())
        for button in (part.try_it, part.look):
            right = button.mapTo(column.viewport(), button.rect().topRight()).x()
            assert right < column.viewport().width()
