"""The settings by keyboard alone, and for who hears them."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from hermes_desktop.services.settings.settings_repository import OPTIONS
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.fields.field_text import label_parts
from hermes_desktop.ui.settings.fields.options_part import OptionsPart, ResetRuleSection
from hermes_desktop.ui.settings.page_table import PAGES, page_of
from hermes_desktop.ui.settings.tab_order import tab_stops
from tests.fakes.window_stage import WindowStage
from tests.ui.settings.conftest import SettingsStage

DAYS = "session_store_max_age_days"


def row(view: QWidget, key: str) -> FieldRow:
    view.show_setting(key)
    return next(each for each in view.findChildren(FieldRow) if each.key == key)


@pytest.mark.asyncio
async def test_tab_goes_from_top_to_bottom_also_through_what_was_unfolded(stage) -> None:
    async with stage:
        view = stage.view
        view.show_page("sessions")
        view.stack.column("sessions").finish()
        fold = next(f for f in view.findChildren(ResetRuleSection) if f.prefix.endswith("telegram"))
        fold.box.click()
        view.draft.give(DAYS, "30")
        stops = [each for each in tab_stops(view) if each.isVisible() and each.isEnabled()]
        assert stops[0] is view.search
        assert stops[-1] is view.bar.save
        view.search.setFocus()
        walked = [stage.view.focusWidget()]
        while walked[-1] is not view.bar.save and len(walked) < 200:
            stage.press(Qt.Key.Key_Tab)
            walked.append(stage.view.focusWidget())
        assert walked == stops
        places = [w.mapTo(view.stack.currentWidget().widget(), w.rect().topLeft()).y()
                  for w in walked if view.stack.isAncestorOf(w)]  # fmt: skip
        assert places == sorted(places)


@pytest.mark.asyncio
async def test_enter_in_a_line_leads_to_save_and_enter_again_saves(home, stage) -> None:
    async with stage:
        line = row(stage.view, DAYS).editor.line
        line.selectAll()
        QTest.keyClicks(line, "45")
        stage.press(Qt.Key.Key_Return, line)
        assert stage.view.focusWidget() is stage.view.bar.save
        stage.press(Qt.Key.Key_Space, stage.view.bar.save)
        await stage.until((home / "config.yaml").exists)
        assert stage.config == f"{DAYS}: 45\n"
        await stage.until(lambda: not stage.view.controller.busy)


@pytest.mark.asyncio
async def test_undo_in_the_window_is_undo_of_the_settings(home, theme) -> None:
    async with WindowStage(home, theme) as stage:
        stage.window.show_settings()
        view = stage.window.settings.view
        await stage.until(lambda: view.ready)
        line = row(view, DAYS).editor.line
        line.selectAll()
        QTest.keyClicks(line, "45")
        assert view.draft.edits[DAYS].value == 45
        assert stage.window._rail.settings_button.needs == "1 change, not saved"
        QTest.keyClick(line, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert not view.draft.edits
        assert line.text() == "90"
        assert stage.window._rail.settings_button.needs == ""


@pytest.mark.asyncio
async def test_search_finds_leads_and_focuses(stage) -> None:
    async with stage:
        view = stage.view
        view.search.setFocus()
        QTest.keyClicks(view.search, label_parts(OPTIONS[DAYS]).what.lower())
        found = [view.results.list.item(n) for n in range(view.results.list.count())]
        assert found[0].text() == label_parts(OPTIONS[DAYS]).what
        stage.press(Qt.Key.Key_Return, view.search)
        assert view.page_name == "sessions"
        assert stage.view.focusWidget() is row(view, DAYS).editor.line
        assert view.step_back()
        assert view.search.text() == ""
        QTest.keyClicks(view.search, "idle_minutes telegram")
        stage.press(Qt.Key.Key_Down, view.search)
        assert stage.view.focusWidget() is view.results.list
        stage.press(Qt.Key.Key_Return, view.results.list)
        fold = next(f for f in view.findChildren(ResetRuleSection) if f.prefix.endswith("telegram"))
        assert stage.view.focusWidget() is fold.box
        view.search.setFocus()
        view.search.clear()
        QTest.keyClicks(view.search, OPTIONS["session_reset.mode"].choices["both"])
        assert view.results.list.count() > 4
        view.search.clear()
        QTest.keyClicks(view.search, "xyzzy")
        assert "No setting contains “xyzzy”" in view.results.head.text()


@pytest.mark.asyncio
async def test_numbers_step_with_the_arrows_and_lists_leave_by_tab(stage) -> None:
    async with stage:
        line = row(stage.view, DAYS).editor.line
        stage.press(Qt.Key.Key_Up, line)
        assert line.text() == "91"
        part = row(stage.view, "compression.threshold").editor.line
        stage.press(Qt.Key.Key_Down, part)
        assert part.text() == "0.45"
        assert len(stage.view.draft.edits) == 2


@pytest.mark.asyncio
async def test_a_rule_of_its_own_is_given_and_taken(home, stage) -> None:
    (home / "config.yaml").write_text("session_reset:\n  mode: idle\n")
    async with stage:
        view = stage.view
        view.show_page("sessions")
        view.stack.column("sessions").finish()
        fold = next(
            f for f in view.findChildren(ResetRuleSection) if f.prefix.endswith("type.group")
        )
        assert fold.box.text() == "Groups"
        assert fold.summary.text() == "same as all chats"
        fold.box.click()
        assert [change.key for change in view.draft.changes()] == ["reset_by_type.group.mode"]
        view.saving.save()
        await stage.until(lambda: "group" in stage.config and not view.controller.busy)
        fold.box.click()
        view.saving.save()
        await stage.until(lambda: "group" not in stage.config and not view.controller.busy)
        assert stage.config == "session_reset:\n  mode: idle\n"


@pytest.mark.asyncio
async def test_everything_has_a_name(stage: SettingsStage) -> None:
    async with stage:
        for entry in PAGES:
            stage.view.show_page(entry.name)
            parts = stage.view.stack.currentWidget().findChildren(OptionsPart)
            stops = [stop for part in parts for stop in tab_stops(part) if stop.isVisible()]
            nameless = [stop for stop in stops if not _name(stop)]
            assert not nameless
        field = row(stage.view, "session_reset.idle_minutes")
        assert field.editor.widget.accessibleName() == "All chats: Inactive for"
        assert "minutes" in field.editor.widget.accessibleDescription()
        assert field.label.buddy() is field.editor.widget
        assert "Default: 1440 minutes" in field.label.toolTip()


def _name(widget: QWidget) -> str:
    return widget.accessibleName() or getattr(widget, "text", str)()


@pytest.mark.asyncio
async def test_every_setting_can_be_gone_to(stage) -> None:
    async with stage:
        view = stage.view
        for key, option in OPTIONS.items():
            view.show_page("other")
            view.show_setting(key)
            assert view.page_name == page_of(option), key
            if not option.platform:
                focused = stage.view.focusWidget()
                assert view.stack.currentWidget().isAncestorOf(focused), key
                assert focused.accessibleName() or focused.text(), key


@pytest.mark.asyncio
async def test_what_is_said_about_a_field_comes_into_sight_with_it(stage) -> None:
    async with stage:
        view = stage.view
        view.resize(672, 420)
        view.show_page("sessions")
        view.draft.give("reset_by_type.group.mode", "daily", insist=True)
        view.draft.give("reset_by_type.group.at_hour", "25")
        view.saving.save()
        field = next(
            each for each in view.findChildren(FieldRow)
            if each.key == "reset_by_type.group.at_hour"
        )  # fmt: skip
        assert stage.view.focusWidget() is field.editor.line
        await stage.until(lambda: not field.notes.trouble.visibleRegion().isEmpty())
        port = view.stack.currentWidget().viewport()
        place = field.notes.rect().bottomLeft()
        await stage.until(lambda: field.notes.mapTo(port, place).y() <= port.height())
