"""Help of a setting: one line, and the rest behind “?”."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from hermes_desktop.services.settings.settings_repository import OPTIONS
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.fields.field_text import help_parts, help_words
from tests.ui.settings.conftest import SettingsStage

MODE = "approvals.mode"


@pytest.mark.parametrize("key", OPTIONS)
def test_the_line_is_short_and_nothing_is_lost(key: str) -> None:
    first, rest = help_parts(OPTIONS[key])
    assert 0 < len(first) <= 70
    assert f"{first} {rest}".strip() == help_words(OPTIONS[key])


def row(stage: SettingsStage, key: str) -> FieldRow:
    stage.view.show_setting(key)
    return next(each for each in stage.view.findChildren(FieldRow) if each.key == key)


@pytest.mark.asyncio
async def test_the_rest_opens_and_closes(stage: SettingsStage) -> None:
    async with stage:
        found = row(stage, MODE)
        await stage.until(found.isVisible)
        assert found.about.text().count(".") == 1
        assert not found.more.isVisible()
        assert found.explain.accessibleName() == "More about “Ask before risky actions”"
        assert "the assistant acts immediately" in found.editor.widget.accessibleDescription()
        editor = found.editor.widget
        QTest.keyClick(editor, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
        assert found.more.isVisible()
        assert "the assistant acts immediately" in found.more.text()
        QTest.mouseClick(found.explain, Qt.MouseButton.LeftButton)
        assert not found.more.isVisible()


@pytest.mark.asyncio
async def test_without_a_rest_there_is_no_button(stage: SettingsStage) -> None:
    async with stage:
        assert not row(stage, "agent.api_max_retries").explain.isVisible()
