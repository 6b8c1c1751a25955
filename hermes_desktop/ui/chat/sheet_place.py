"""Where the assistant's questions stand: between the transcript and the message field."""

from PySide6.QtCore import QEvent, QMargins, QObject, QSize
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

SHARE = 0.6
"""Of the page's height that sheets may take; the transcript gives way."""


class SheetPlace(QWidget):
    """Holds sheets: any widget that shows itself while something is asked, and hides afterwards.

    A sheet that wants more room than there is gets less than its size hint, down to its minimum
    height: what is long in it has to scroll. Sheets that show at once share the room.

    Args:
        page: Whose height is shared.
    """

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._sheets: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(QMargins())
        self._column.setSpacing(0)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        page.installEventFilter(self)
        self.hide()

    @property
    def page(self) -> QWidget:
        """What it stands on."""
        return self._page

    def add(self, sheet: QWidget) -> None:
        """Give a sheet its place; the ones added first stand above. It may be hidden."""
        self._sheets.append(sheet)
        self._column.addWidget(sheet)
        sheet.installEventFilter(self)
        self._follow()

    @override
    def sizeHint(self) -> QSize:
        wanted = self._column.sizeHint()
        if self._column.hasHeightForWidth():
            wanted.setHeight(self._column.heightForWidth(max(self._page.width(), 1)))
        least = self._column.minimumSize().height()
        return QSize(wanted.width(), min(wanted.height(), max(least, self._most())))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._column.minimumSize().width(), self.sizeHint().height())

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._page:
            if event.type() == QEvent.Type.Resize:
                self.updateGeometry()
        elif event.type() in {QEvent.Type.ShowToParent, QEvent.Type.HideToParent}:
            self._follow()
        return False

    def _most(self) -> int:
        return int(self._page.height() * SHARE)

    def _follow(self) -> None:
        """Stand there only while a sheet does."""
        self.setVisible(any(not sheet.isHidden() for sheet in self._sheets))
        self.updateGeometry()
