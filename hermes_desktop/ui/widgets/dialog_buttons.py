"""A consistent appearance for the buttons of dialogs."""

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QDialogButtonBox, QMessageBox


def remove_icons(buttons: QDialogButtonBox | QMessageBox) -> None:
    """Remove the icons that some desktops put on Cancel and Close, but on no other button.

    Args:
        buttons: With all its buttons added.
    """
    for button in buttons.buttons():
        button.setIcon(QIcon())
