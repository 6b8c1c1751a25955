"""Dialog height that fits the wrapped text at the dialog's width and current font."""

from PySide6.QtWidgets import QDialog


def fit_height(dialog: QDialog) -> None:
    """Resize a dialog to the height that its wrapped content needs at its present width."""
    layout = dialog.layout()
    if layout is not None:
        layout.activate()
        wide = dialog.width()
        high = layout.totalHeightForWidth(wide) if layout.hasHeightForWidth() else 0
        dialog.resize(wide, max(high, layout.totalMinimumSize().height() if not high else 0))
