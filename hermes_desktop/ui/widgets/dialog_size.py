"""How high a dialog is: as high as its words are at its width, with the font that is set."""

from PySide6.QtWidgets import QDialog


def fit_height(dialog: QDialog) -> None:
    """Make a dialog as high as its content, which wraps, is at its present width."""
    layout = dialog.layout()
    if layout is not None:
        layout.activate()
        wide = dialog.width()
        high = layout.totalHeightForWidth(wide) if layout.hasHeightForWidth() else 0
        dialog.resize(wide, max(high, layout.totalMinimumSize().height() if not high else 0))
