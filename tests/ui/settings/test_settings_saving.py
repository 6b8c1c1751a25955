"""Filling in, the difference, saving, being told, taking it back – and what can go wrong."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.settings_repository import OPTIONS, Change, SettingsRepository
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.fields.field_text import label_parts
from hermes_desktop.ui.settings.saving.difference_dialog import DifferenceDialog
from tests.ui.settings.conftest import SettingsStage, without_room

DAYS, MODE, MINUTES = (
    "session_store_max_age_days",
    "session_reset.mode",
    "session_reset.idle_minutes",
)
FIRST = "# mine\nsession_store_max_age_days: 30  # a month\n"


def row(stage: SettingsStage, key: str) -> FieldRow:
    stage.view.show_setting(key)
    return next(each for each in stage.view.findChildren(FieldRow) if each.key == key)


def fill_in(stage: SettingsStage, key: str, text: str) -> FieldRow:
    found = row(stage, key)
    found.editor.widget.setFocus()
    found.editor.line.selectAll()
    QTest.keyClicks(found.editor.line, text)
    return found


async def saved(stage: SettingsStage) -> None:
    stage.view.saving.save()
    await stage.until(lambda: not stage.view.draft.edits and not stage.view.controller.busy)


@pytest.mark.asyncio
async def test_a_change_is_shown_saved_told_and_taken_back(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        field = fill_in(stage, DAYS, "45")
        assert stage.view.bar.isVisible()
        assert stage.view.bar.words.text() == "1 change"
        assert "now 30 days" in field.notes.pending.text()
        await saved(stage)
        assert stage.config == FIRST.replace("30", "45")
        assert not stage.view.bar.isVisible()
        assert "1 setting was saved." in stage.view.strip.words
        assert label_parts(OPTIONS[DAYS]).what in stage.view.strip.words
        stage.view.strip.buttons["undo"].click()
        await stage.until(lambda: stage.config == FIRST)
        await stage.until(lambda: "was undone" in stage.view.strip.words)
        assert "undo" not in stage.view.strip.buttons
        await stage.until(lambda: field.editor.line.text() == "30")


@pytest.mark.asyncio
async def test_taking_back_a_new_key_leaves_the_file_as_it_was(home, stage) -> None:
    (home / "config.yaml").write_text("model:\n  default: one\n\n# end\n")
    before = (home / "config.yaml").read_bytes()
    async with stage:
        fill_in(stage, MINUTES, "50")
        fill_in(stage, "agent.max_turns", "7")
        await saved(stage)
        assert "idle_minutes: 50" in stage.config
        stage.view.strip.buttons["undo"].click()
        await stage.until(lambda: "was undone" in stage.view.strip.words)
        assert (home / "config.yaml").read_bytes() == before


@pytest.mark.asyncio
async def test_the_difference_is_seen_before_anything_is_written(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, DAYS, "45")
        stage.view.bar.difference.click()
        dialog = await stage.dialog(DifferenceDialog)
        assert "-session_store_max_age_days: 30" in dialog.text.toPlainText()
        assert "+session_store_max_age_days: 45" in dialog.text.toPlainText()
        dialog.reject()
        assert stage.config == FIRST
        await stage.until(lambda: not stage.view.findChildren(DifferenceDialog))
        stage.view.bar.difference.click()
        (await stage.dialog(DifferenceDialog)).agree.click()
        await stage.until(lambda: "45" in stage.config)


@pytest.mark.asyncio
async def test_what_makes_no_sense_is_said_at_the_field_and_nothing_is_saved(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, MODE.replace("mode", "at_hour"), "24")
        fill_in(stage, DAYS, "45")
        stage.view.show_page("general")
        stage.view.saving.save()
        assert stage.view.page_name == "sessions"
        hour = row(stage, "session_reset.at_hour")
        assert "from 0 to 23" in hour.notes.trouble.text()
        assert stage.view.focusWidget() is hour.editor.line
        assert "1 to correct first" in stage.view.bar.words.text()
        assert stage.config == FIRST


@pytest.mark.asyncio
async def test_keys_undo_and_redo_over_fields(home, stage) -> None:
    async with stage:
        fill_in(stage, DAYS, "45")
        fill_in(stage, MINUTES, "50")
        stage.view.undo()
        assert set(stage.view.draft.edits) == {DAYS}
        line = row(stage, DAYS).editor.line
        event_taken = QTest.keyClick(
            line, Qt.Key.Key_Z,
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
        )  # fmt: skip
        assert event_taken is None
        assert set(stage.view.draft.edits) == {DAYS, MINUTES}
        assert stage.view.focusWidget() is row(stage, MINUTES).editor.line


@pytest.mark.asyncio
async def test_escape_takes_one_field_back(home, stage) -> None:
    async with stage:
        fill_in(stage, DAYS, "45")
        assert stage.view.step_back()
        assert not stage.view.draft.edits
        assert row(stage, DAYS).editor.line.text() == "90"
        assert not stage.view.step_back()


@pytest.mark.asyncio
async def test_another_window_was_faster_with_the_same_key(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        field = fill_in(stage, DAYS, "45")
        fill_in(stage, MINUTES, "50")
        other = SettingsRepository(HermesPaths(home, home), {}, SystemClock())
        other.save([Change(DAYS, 60)])
        stage.view.saving.save()
        await stage.until(lambda: stage.view.draft.in_conflict(DAYS))
        assert stage.config == FIRST.replace("30", "60")
        assert "“60 days”" in field.notes.trouble.text()
        assert set(stage.view.draft.edits) == {DAYS, MINUTES}
        stage.view.saving.save()  # nobody has decided yet
        assert stage.config == FIRST.replace("30", "60")
        QTest.mouseClick(field.notes.mine, Qt.MouseButton.LeftButton)
        await saved(stage)
        assert "session_store_max_age_days: 45" in stage.config


@pytest.mark.asyncio
async def test_theirs_is_taken(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        field = fill_in(stage, DAYS, "45")
        stage.write(FIRST.replace("30", "60"))
        stage.view.controller.load()
        await stage.until(lambda: stage.view.draft.in_conflict(DAYS))
        field.notes.theirs.click()
        assert field.editor.line.text() == "60"
        assert not stage.view.bar.isVisible()


@pytest.mark.asyncio
async def test_other_keys_that_change_elsewhere_are_named(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, DAYS, "45")
        stage.write(FIRST + "session_reset:\n  mode: daily\n")
        stage.view.controller.load()
        await stage.until(lambda: "Changed by another program" in stage.view.strip.words)
        assert label_parts(OPTIONS[MODE]).what in stage.view.strip.words
        await saved(stage)
        assert "mode: daily" in stage.config
        assert "45" in stage.config


@pytest.mark.asyncio
@pytest.mark.parametrize("way", ["disk", "folder"])
async def test_what_cannot_be_written_keeps_the_edits(home, stage, way) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, DAYS, "45")
        with without_room(home, way):
            stage.view.saving.save()
            await stage.until(stage.view.strip.isVisible)
        assert "yaml cannot be" in stage.view.strip.words
        assert stage.config == FIRST
        assert set(stage.view.draft.edits) == {DAYS}
        await saved(stage)
        assert "45" in stage.config


@pytest.mark.asyncio
async def test_a_file_that_is_replaced_while_the_window_is_open(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, DAYS, "45")
        other = home / "new.yaml"
        other.write_text("# another file\n" + FIRST)
        other.replace(home / "config.yaml")
        await saved(stage)
        assert stage.config == "# another file\n" + FIRST.replace("30", "45")


@pytest.mark.asyncio
async def test_the_report_stands_until_the_gateway_was_restarted(home, stage) -> None:
    async with stage:
        stage.view.strip.tell("ok", "Saved.", (), {"restart": "Restart gateway…"})
        stage.view.strip.buttons["restart"].click()
        assert stage.restarts == 1
        assert stage.view.strip.isVisible()
        stage.services.bus.publish(GatewayStatusChanged("starting"))
        assert "restart" not in stage.view.strip.buttons


@pytest.mark.asyncio
async def test_what_is_changed_outside_shows_by_itself(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        field = row(stage, DAYS)
        await stage.until(lambda: stage.services.settings._live._known is not None)
        stage.write(FIRST.replace("30", "77"))
        await stage.until(lambda: field.editor.line.text() == "77")
        fill_in(stage, DAYS, "45")
        stage.write(FIRST.replace("30", "78"))
        await stage.until(lambda: "“78 days”" in field.notes.trouble.text())
        assert field.editor.line.text() == "45"
        stage.write("a: [1\n")
        await stage.until(stage.view.broken.isVisible)
        stage.write(FIRST)
        await stage.until(lambda: not stage.view.broken.isVisible())
        assert field.editor.line.text() == "45"


@pytest.mark.asyncio
async def test_a_file_written_in_a_way_that_cannot_be_changed_alone(home, stage) -> None:
    odd = "agent: &all\n  max_turns: 3\nother: *all\n"
    (home / "config.yaml").write_text(odd)
    async with stage:
        fill_in(stage, "agent.max_turns", "7")
        stage.view.saving.see_difference()
        await stage.until(stage.view.strip.isVisible)
        stage.view.strip.clear()
        stage.view.saving.save()
        await stage.until(stage.view.strip.isVisible)
        assert "line" in stage.view.strip.words
        assert stage.config == odd
        assert set(stage.view.draft.edits) == {"agent.max_turns"}


@pytest.mark.asyncio
async def test_the_programs_own_settings_are_saved_and_taken_back_beside_the_others(
    home, stage
) -> None:
    (home / "config.yaml").write_text(FIRST)
    own = home / "desktop" / "settings.yaml"
    async with stage:
        fill_in(stage, DAYS, "45")
        row(stage, "desktop.start_hidden").editor.box.click()
        await saved(stage)
        assert "start_hidden: true" in own.read_text()
        assert label_parts(OPTIONS["desktop.start_hidden"]).what in stage.view.strip.words
        assert "when Hermes Desktop restarts" in stage.view.strip.words
        stage.view.strip.buttons["undo"].click()
        await stage.until(lambda: "was undone" in stage.view.strip.words)
        assert "start_hidden" not in own.read_text()
        assert stage.config == FIRST


@pytest.mark.asyncio
async def test_somebody_changes_it_before_it_is_taken_back(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, DAYS, "45")
        await saved(stage)
        other = SettingsRepository(HermesPaths(home, home), {}, SystemClock())
        other.save([Change(DAYS, 60)])
        stage.view.strip.buttons["undo"].click()
        await stage.until(lambda: "changed by another program" in stage.view.strip.words)
        assert "60" in stage.config


@pytest.mark.asyncio
async def test_no_other_change_is_asked_for_while_one_is_being_saved(home, stage) -> None:
    async with stage:
        fill_in(stage, DAYS, "45")
        stage.view.saving.save()
        await stage.until(lambda: stage.view.controller.busy)
        assert not stage.view.bar.save.isEnabled()
        stage.view.saving.save()
        stage.view.draft.give(MINUTES, "50")
        await stage.until(lambda: not stage.view.controller.busy)
        assert set(stage.view.draft.edits) == {MINUTES}
        assert stage.view.bar.save.isEnabled()
        assert stage.config == f"{DAYS}: 45\n"


@pytest.mark.asyncio
async def test_a_change_outside_that_comes_with_the_end_is_left(home, stage, caplog) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        await stage.until(lambda: stage.services.settings._live._known is not None)
        await stage.services.settings.stop_following()
        stage.services.settings.noticed()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.asyncio
@pytest.mark.parametrize("button", ["save", "discard"])
async def test_the_focus_returns_to_the_field_when_the_bar_goes(home, stage, button: str) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        field = fill_in(stage, DAYS, "45")
        await stage.until(field.isVisible)  # a row that was just made is shown by the loop
        pressed = getattr(stage.view.bar, button)
        pressed.setFocus()
        QTest.keyClick(pressed, Qt.Key.Key_Space)
        await stage.until(lambda: not stage.view.bar.isVisible() and not stage.view.controller.busy)
        assert stage.view.window().focusWidget() is field.editor.line


@pytest.mark.asyncio
async def test_no_button_of_the_difference_has_an_icon(home, stage) -> None:
    (home / "config.yaml").write_text(FIRST)
    async with stage:
        fill_in(stage, DAYS, "45")
        stage.view.bar.difference.click()
        dialog = await stage.dialog(DifferenceDialog)
        assert all(each.icon().isNull() for each in dialog.findChildren(QAbstractButton))
        dialog.reject()
        await stage.until(lambda: not stage.view.findChildren(DifferenceDialog))
