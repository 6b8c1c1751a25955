"""The level of the sandbox on the settings page: in words, with the error and the remedy."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.services.settings.sandbox_check import (
    Level,
    SandboxCheck,
    SandboxStatus,
    sandbox_view,
)
from hermes_desktop.ui.settings.sandbox_part import SandboxPart

SCREENS = Path(__file__).parents[3] / ".ci" / "out" / "screens"
NO_PROFILE = (
    "Ubuntu lets bubblewrap work only with its AppArmor profile: sudo apt-get install "
    "apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
    "/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)
STATUS = {
    "A": SandboxStatus(Level.CLOSED),
    "B": SandboxStatus(
        Level.PARTLY_HELD, "bwrap: setting up uid map: Permission denied", NO_PROFILE
    ),
    "C": SandboxStatus(
        Level.NONE,
        "bubblewrap is not installed. Landlock is missing, too.",
        "Install it: sudo apt-get install bubblewrap",
    ),
}


class Computer:
    """A probe whose result can be changed, as by installing something."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.asked: list[bool] = []

    def __call__(self, *, fresh: bool = False) -> SandboxStatus:
        self.asked.append(fresh)
        return STATUS[self.level]


def test_the_remedy_is_split_into_sentence_and_command() -> None:
    partly, none = sandbox_view(STATUS["B"]), sandbox_view(STATUS["C"])
    assert (none.remedy, none.command) == ("Install it:", "sudo apt-get install bubblewrap")
    assert partly.command.startswith("sudo apt-get install apparmor-profiles && ")
    plain = sandbox_view(SandboxStatus(Level.NONE, "x", "This container refuses it: ask."))
    assert (plain.remedy, plain.command) == ("This container refuses it: ask.", "")


@pytest.mark.asyncio
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("level", ["A", "B", "C"])
async def test_the_level_is_shown_and_checked_again(stage, level: str, scheme: str) -> None:
    stage.theme.set_scheme(scheme)
    computer = Computer(level)
    async with stage:
        stage.services.sandbox.close()
        stage.services.sandbox = SandboxCheck(computer)
        stage.view.show_page("assistant")
        part = stage.view.findChild(SandboxPart)
        await stage.until(lambda: part.seen is not None)
        view = sandbox_view(STATUS[level])
        assert part.title.text() == f"{view.title} (level {level})"
        assert part.meaning.text() == view.meaning
        assert part.error.isHidden() is (level == "A")
        assert part.error.text() == view.error
        assert part.command.text() == view.command
        if view.command:
            part.copy.click()
            assert QApplication.clipboard().text() == view.command
        assert computer.asked == [False]
        stage.view.stack.focus("approvals.sandboxed_commands")
        bar = stage.view.stack.currentWidget().verticalScrollBar()
        bar.setValue(
            part.mapTo(stage.view.stack.currentWidget().widget(), part.rect().topLeft()).y() - 24
        )
        await stage.until(part.again.isEnabled)
        SCREENS.mkdir(parents=True, exist_ok=True)
        assert stage.view.grab().save(str(SCREENS / f"sandbox-{level}-{stage.theme.scheme}.png"))

        computer.level = "A"
        part.again.click()
        await stage.until(lambda: "level A" in part.title.text() and part.again.isEnabled())
        assert computer.asked == [False, True]
        assert part.error.isHidden()
        assert part.command.isHidden() or not part.command.isVisible()


@pytest.mark.asyncio
async def test_it_stands_directly_above_the_choice(stage) -> None:
    async with stage:
        stage.services.sandbox.close()
        stage.services.sandbox = SandboxCheck(Computer("A"))
        stage.view.show_page("assistant")
        parts = stage.view.stack.currentWidget().parts
        at = next(n for n, each in enumerate(parts) if isinstance(each, SandboxPart))
        assert parts[at + 1].row("approvals.sandboxed_commands") is not None
        await stage.until(lambda: parts[at].seen is not None)
