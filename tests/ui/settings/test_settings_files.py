"""What stands in the file besides settings; a file that makes no sense; versions; managed homes."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollBar

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.other_keys_part import OtherKeysPart
from hermes_desktop.ui.settings.saving.difference_dialog import DifferenceDialog
from hermes_desktop.ui.settings.versions_part import VersionsPart
from tests.fakes.another_user import folder_for_others, give_away, not_root
from tests.ui.settings.conftest import SettingsStage

DAYS = "session_store_max_age_days"


def field(stage: SettingsStage, key: str) -> FieldRow:
    stage.view.show_setting(key)
    return next(each for each in stage.view.findChildren(FieldRow) if each.key == key)


def rows(table) -> list[list[str]]:
    model = table.model()
    return [
        [str(model.index(row, column).data()) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


async def other_page(stage: SettingsStage, kind: type):
    stage.view.show_page("other")
    part = stage.view.findChild(kind)
    await stage.until(part.words.text)
    return part


@pytest.mark.asyncio
async def test_other_keys_are_shown_with_their_lines_and_without_secrets(home, stage) -> None:
    (home / "config.yaml").write_text(
        "model:\n  default: one\n  api_key: sk-in-the-file\nzeta: 1\nmine:\n  token: abcdef\n"
        "alpha_token: sk-hidden-value\n"
    )
    async with stage:
        part = await other_page(stage, OtherKeysPart)
        await stage.until(lambda: ["zeta", "1", "4"] in rows(part.table))
        shown = rows(part.table)
        assert ["alpha_token", "[secret]", "7"] in shown
        assert "sk-" not in str(shown)
        assert part.repeated.isHidden() or not part.repeated.text()
        part.table.horizontalHeader().sectionClicked.emit(0)
        stage.view.search.setText("zeta")
        stage.view.search.textEdited.emit("zeta")
        await stage.until(lambda: [hit.text() for hit in items(stage)] == ["zeta"])


def items(stage: SettingsStage) -> list:
    found = stage.view.results.list
    return [found.item(row) for row in range(found.count())]


@pytest.mark.asyncio
async def test_keys_that_stand_twice_are_named_there_and_at_the_field(home, stage) -> None:
    (home / "config.yaml").write_text(f"{DAYS}: 5\nagent:\n  max_turns: 3\n{DAYS}: 6\n")
    async with stage:
        note = field(stage, DAYS).notes.origin.text()
        assert "line 4" in note
        assert "is also in line 1; only the last one is used" in note
        part = await other_page(stage, OtherKeysPart)
        await stage.until(part.repeated.text)
        assert part.repeated.text() == f"{DAYS}: line 4 is used, not line 1."


@pytest.mark.asyncio
async def test_a_value_that_another_place_overrules_is_named_at_the_field(home, stage) -> None:
    (home / "config.yaml").write_text(
        f"{DAYS}: 5\ngateway:\n  {DAYS}: 6\n  unauthorized_dm_behavior: ignore\n"
    )
    async with stage:
        shown = field(stage, DAYS)
        assert shown.editor.line.text() == "5"
        words = shown.notes.origin.text()
        assert f"“gateway.{DAYS}”, line 3, is ignored" in words
        assert "is ignored" not in field(stage, "unauthorized_dm_behavior").notes.words


@pytest.mark.asyncio
async def test_a_file_that_makes_no_sense_is_shown_and_left_alone(home, stage) -> None:
    good = f"{DAYS}: 30\n"
    broken = "model:\n  default: x\n\tbad: 1\napi_key: sk-very-secret\n"
    (home / "config.yaml").write_text(good)
    async with stage:
        line = field(stage, DAYS).editor.line
        line.setText("45")
        line.textEdited.emit("45")
        stage.write(broken)
        stage.view.controller.load()
        await stage.until(stage.view.broken.lines.isVisible)
        assert "Line 3" in stage.view.broken.detail.text()
        assert "▸ 3" in stage.view.broken.lines.text()
        assert "sk-very" not in stage.view.broken.lines.text()
        assert not line.isEnabled()
        stage.view.saving.save()
        await stage.until(stage.view.strip.isVisible)
        assert stage.config == broken
        assert list(stage.view.draft.edits) == [DAYS]
        stage.write(good)
        stage.view.broken.retry.click()
        await stage.until(lambda: not stage.view.broken.isVisible())
        assert line.isEnabled()
        assert line.text() == "45"


@pytest.mark.asyncio
@pytest.mark.parametrize("broken", [b"a: [1\n", b"a: \xff\xfe\n", b"# x\n" * 600_000])
async def test_a_file_that_makes_no_sense_at_first_can_be_put_right_by_a_version(
    home, stage, broken: bytes
) -> None:
    book = SettingsRepository(HermesPaths(home, home), {}, SystemClock())
    (home / "config.yaml").write_text(f"{DAYS}: 30\n")
    book.save([Change(DAYS, 31)])
    (home / "config.yaml").write_bytes(broken)
    async with stage:
        assert stage.view.broken.isVisible()
        stage.view.broken.versions.click()
        part = await other_page(stage, VersionsPart)
        await stage.until(part.table.isVisible)
        part.restore.click()
        dialog = await stage.dialog(DifferenceDialog)
        assert (home / "config.yaml").read_bytes() == broken
        dialog.agree.click()
        wanted = f"{DAYS}: 30\n".encode()
        await stage.until(lambda: (home / "config.yaml").read_bytes() == wanted)
        await stage.until(lambda: not stage.view.broken.isVisible())
        assert field(stage, DAYS).editor.line.text() == "30"


@pytest.mark.asyncio
async def test_versions_are_compared_and_brought_back(home, stage) -> None:
    book = SettingsRepository(HermesPaths(home, home), {}, SystemClock())
    (home / "config.yaml").write_text("# first\n")
    for days in range(1, 8):
        book.save([Change(DAYS, days)])
    async with stage:
        part = await other_page(stage, VersionsPart)
        await stage.until(lambda: len(rows(part.table)) == 5)
        stage.press(Qt.Key.Key_Return, part.table)
        dialog = await stage.dialog(DifferenceDialog)
        assert dialog.agree is None
        assert f"-{DAYS}: 6" in dialog.text.toPlainText()
        dialog.reject()
        await stage.until(lambda: not stage.view.findChildren(DifferenceDialog))
        part.table.selectRow(4)
        part.restore.click()
        (await stage.dialog(DifferenceDialog)).agree.click()
        await stage.until(lambda: f"{DAYS}: 2" in stage.config)
        await stage.until(stage.view.strip.isVisible)
        await stage.until(lambda: stage.view.draft.value_of(DAYS) == 2)


@pytest.mark.asyncio
async def test_nothing_was_saved_here_yet(stage) -> None:
    async with stage:
        part = await other_page(stage, VersionsPart)
        assert "no previous versions" in part.words.text()
        assert not part.restore.isVisible()


@pytest.mark.asyncio
async def test_a_managed_home_is_only_looked_at(home, theme) -> None:
    (home / "config.yaml").write_text(f"{DAYS}: 30\n")
    (home / ".managed").write_text("")
    async with SettingsStage(home, theme) as stage:
        shown = field(stage, DAYS)
        assert not shown.editor.widget.isEnabled()
        assert ".managed exists" in shown.editor.widget.accessibleDescription()
        assert ".managed exists" in stage.view.strip.words
        assert not shown.reset.isVisible()


@pytest.mark.asyncio
async def test_a_variable_that_wins_disables_its_field_and_says_why(home, theme) -> None:
    (home / ".env").write_text("SESSION_RESET_HOUR=5\n")
    environ = {"HERMES_RESTART_DRAIN_TIMEOUT": "33"}
    async with SettingsStage(home, theme, environ) as stage:
        hour = field(stage, "session_reset.at_hour")
        assert not hour.editor.widget.isEnabled()
        assert "SESSION_RESET_HOUR in .env overrides" in hour.notes.origin.text()
        drain = field(stage, "agent.restart_drain_timeout")
        assert drain.editor.widget.isEnabled()
        assert "a value set here overrides it" in drain.notes.origin.text()


@pytest.mark.asyncio
async def test_a_value_that_makes_no_sense_is_named_at_its_field(home, stage) -> None:
    (home / "config.yaml").write_text(f"\ufeff{DAYS}: soon\r\nagent:\r\n  max_turns: 100000\r\n")
    async with stage:
        shown = field(stage, DAYS)
        assert "“soon”, line 1" in shown.notes.trouble.text()
        assert "90 days is used" in shown.notes.trouble.text()
        assert "from 1 to" in field(stage, "agent.max_turns").notes.trouble.text()
        shown.reset.click()
        stage.view.saving.save()
        await stage.until(lambda: not stage.view.draft.edits)
        raw = (home / "config.yaml").read_bytes()
        assert raw == b"\xef\xbb\xbfagent:\r\n  max_turns: 100000\r\n"


@pytest.mark.asyncio
async def test_what_differs_from_its_default_stands_out_and_goes_back(home, stage) -> None:
    (home / "config.yaml").write_text(f"{DAYS}: 30\nsession_reset:\n  mode: none\n")
    async with stage:
        days, mode = field(stage, DAYS), field(stage, "session_reset.mode")
        field(stage, DAYS)
        assert (days.label.font().bold(), mode.label.font().bold()) == (True, False)
        assert days.reset.toolTip() == "Reset to default: 90 days"
        assert "The default is 90 days." in days.editor.widget.accessibleDescription()
        assert mode.reset.isHidden()  # it stands in the file, and says the same
        days.reset.click()
        assert days.editor.line.text() == "90"
        assert not days.label.font().bold()
        assert "Reset to default" in days.notes.pending.text()
        assert days.reset.isHidden()


@pytest.mark.asyncio
async def test_ten_megabytes_are_named_and_nothing_is_frozen(home, stage) -> None:
    (home / "config.yaml").write_text("# no setting at all, really\n" * 370_000)
    async with stage:
        assert stage.view.broken.isVisible()
        assert "too large" in stage.view.broken.title.text()
        assert "10." in stage.view.broken.detail.text()
        longest = await longest_pause(stage.view.controller.load)
        stage.write(f"{DAYS}: 30\n")
        stage.view.broken.retry.click()
        await stage.until(lambda: not stage.view.broken.isVisible())
        assert field(stage, DAYS).editor.line.text() == "30"
        assert longest < 1.0


async def longest_pause(begin) -> float:
    """How long the loop did not come round while something was done."""
    loop, longest = asyncio.get_running_loop(), 0.0
    begin()
    for _ in range(50):
        before = loop.time()
        await asyncio.sleep(0.01)
        longest = max(longest, loop.time() - before)
    return longest


@pytest.mark.asyncio
@pytest.mark.parametrize("what", ["file", "folder"])
async def test_what_is_read_only_is_said_and_keeps_the_edits(theme, what) -> None:
    with folder_for_others() as home:
        file = home / "config.yaml"
        file.write_text(f"{DAYS}: 30\n")
        give_away(file)
        with not_root():
            async with SettingsStage(home, theme) as stage:
                line = field(stage, DAYS).editor.line
                line.setText("45")
                line.textEdited.emit("45")
                (file if what == "file" else home).chmod(0o444 if what == "file" else 0o555)
                stage.view.saving.save()
                await stage.until(stage.view.strip.isVisible)
                assert "cannot be written" in stage.view.strip.words
                assert stage.config == f"{DAYS}: 30\n"
                assert list(stage.view.draft.edits) == [DAYS]
                (file if what == "file" else home).chmod(0o644 if what == "file" else 0o755)
                stage.view.saving.save()
                await stage.until(lambda: not stage.view.draft.edits)
                assert stage.config == f"{DAYS}: 45\n"


@pytest.mark.asyncio
async def test_a_file_that_makes_no_sense_does_not_scroll_the_page(home, stage) -> None:
    (home / "config.yaml").write_text(f"{DAYS}: 30\n")
    async with stage:
        line = field(stage, DAYS).editor.line
        line.setFocus()
        await stage.until(lambda: not line.visibleRegion().isEmpty())  # scrolled to the field
        bars = [bar for bar in stage.view.findChildren(QScrollBar) if bar.maximum() > 0]
        places = [bar.value() for bar in bars]
        stage.write("model:\n  default: x\n\tbad: 1\n")
        stage.view.controller.load()
        await stage.until(stage.view.broken.lines.isVisible)
        assert not line.isEnabled()
        await stage.until(stage.view.broken.retry.hasFocus)
        assert bars
        assert [bar.value() for bar in bars] == places
