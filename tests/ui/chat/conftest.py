"""The stage of chat tests."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.chat_stage import ChatStage


@pytest.fixture
def stage(qapp: QApplication, theme: Theme, tmp_path: Path) -> ChatStage:
    home = tmp_path / "home"
    home.mkdir()
    return ChatStage(home, theme)
