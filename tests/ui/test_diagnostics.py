"""What the window shows of diagnoses: copying them from Help, and the report of a crash."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.services.diagnosis.crash_reports import KEPT_FOLDER
from hermes_desktop.services.diagnosis.crash_trace import REPORT_NAME
from hermes_desktop.ui.shell.crash_offer import KEY, CrashOffer, CrashReportDialog
from hermes_desktop.ui.shell.key_map import KeysDialog
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.slow

REPORT = "Crash report of Hermes Desktop\n\nWhat happened\nFatal Python error: Aborted\n"


def shown(kind: type) -> object | None:
    found = [each for each in QApplication.topLevelWidgets() if isinstance(each, kind)]
    return next((each for each in found if each.isVisible()), None)


@pytest.mark.asyncio
@pytest.mark.two_processes
async def test_diagnostics_are_copied_from_help(tmp_path: Path, theme: Theme) -> None:
    async with WindowStage(tmp_path, theme) as stage:
        stage.window._navigation.show_keys()
        await stage.until(lambda: shown(KeysDialog))
        dialog = shown(KeysDialog)
        assert isinstance(dialog, KeysDialog)
        assert not dialog.state.isVisible()

        dialog.copy.click()

        assert not dialog.copy.isEnabled()
        await stage.until(lambda: dialog.copy.isEnabled() and dialog.state.isVisible())
        assert dialog.state.text() == "Copied. Paste it into your report."
        text = QApplication.clipboard().text()
        assert "Hermes Desktop" in text
        # This process has the store open, and the doctor is another one.
        assert f"(process {os.getpid()})" in " ".join(text.split())
        dialog.close()


@pytest.mark.asyncio
@pytest.mark.two_processes
async def test_help_may_be_closed_while_they_are_collected(tmp_path: Path, theme: Theme) -> None:
    QApplication.clipboard().clear()
    async with WindowStage(tmp_path, theme) as stage:
        stage.window._navigation.show_keys()
        await stage.until(lambda: shown(KeysDialog))
        dialog = shown(KeysDialog)
        assert isinstance(dialog, KeysDialog)
        dialog.copy.click()
        dialog.close()
        await stage.until(QApplication.clipboard().text)
        assert stage.window.notices.current is None


class OfferStage(WindowStage):
    """A window whose home has the report of a crash."""

    async def offer(self) -> CrashOffer:
        slots = AsyncSlots(self.services.tasks, self.services.bus)
        offer = CrashOffer(self.services.diagnosis, self.services.bus, slots, self.window)
        self.window.notices.acted.connect(offer.act_on)
        offer.look()
        await self.until(lambda: self.window.notices.current is not None)
        return offer

    async def opened(self) -> CrashReportDialog:
        self.window.notices.act()
        await self.until(lambda: shown(CrashReportDialog))
        dialog = shown(CrashReportDialog)
        assert isinstance(dialog, CrashReportDialog)
        return dialog


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    (tmp_path / "desktop").mkdir(mode=0o700)
    (tmp_path / "desktop" / REPORT_NAME).write_text(REPORT)
    return tmp_path


@pytest.mark.asyncio
async def test_a_report_is_shown_and_kept(reported: Path, theme: Theme) -> None:
    async with OfferStage(reported, theme) as stage:
        await stage.offer()
        notice = stage.window.notices.current
        assert notice is not None
        assert (notice.key, notice.level) == (KEY, "warning")
        assert notice.title == "Hermes Desktop crashed when it was last used."
        dialog = await stage.opened()
        assert dialog.text.toPlainText() == REPORT
        dialog.copy.click()
        assert QApplication.clipboard().text() == REPORT

        dialog.keep.click()

        folder = reported / "desktop" / KEPT_FOLDER
        await stage.until(lambda: stage.window.notices.current is not None)
        (kept,) = folder.iterdir()
        assert kept.read_text() == REPORT
        assert str(kept) in stage.window.notices.current.detail
    assert not (reported / "desktop" / REPORT_NAME).exists()


@pytest.mark.asyncio
async def test_a_report_is_deleted(reported: Path, theme: Theme) -> None:
    async with OfferStage(reported, theme) as stage:
        await stage.offer()
        dialog = await stage.opened()
        dialog.delete.click()
        await stage.until(lambda: not (reported / "desktop" / REPORT_NAME).exists())
    assert not (reported / "desktop" / KEPT_FOLDER).exists()


@pytest.mark.asyncio
async def test_closing_the_report_decides_nothing(reported: Path, theme: Theme) -> None:
    async with OfferStage(reported, theme) as stage:
        offer = await stage.offer()
        dialog = await stage.opened()
        dialog.reject()
        await stage.until(lambda: shown(CrashReportDialog) is None)
        offer.look()
        await stage.until(lambda: stage.window.notices.current is not None)
    assert (reported / "desktop" / REPORT_NAME).read_text() == REPORT
