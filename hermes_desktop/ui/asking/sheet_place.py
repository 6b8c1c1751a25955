"""Where the assistant's questions stand: between the transcript and the message field."""

from PySide6.QtCore import QEvent, QMargins, QObject, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

_LEAST_WIDTH = 200
_LEAST_HEIGHT = 72
SHARE = 0.6
"""Of the page's height that sheets may take; the transcript gives way."""


class GivingWay(QWidget):
    """Takes what is left, and asks for little: what stands below it gets what it needs.

    Args:
        content: Filled out with it. In a layout it would ask for more by itself.
    """

    def __init__(self, content: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._content = content
        content.setParent(self)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, _LEAST_HEIGHT)

    @override
    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._content.setGeometry(self.rect())


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
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
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
    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return handled

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._page:
            if event.type() == QEvent.Type.Resize:
                self._fit()
        elif event.type() in {QEvent.Type.ShowToParent, QEvent.Type.HideToParent}:
            self._follow()
        return False

    def _fit(self) -> None:
        """As high as the sheets wish, up to the share; then they scroll within."""
        wanted = self._column.sizeHint().height()
        if self._column.hasHeightForWidth():
            wanted = self._column.heightForWidth(max(self._page.width(), 1))
        least = self._column.minimumSize().height()
        self.setMaximumHeight(min(wanted, max(least, int(self._page.height() * SHARE))))

    def _follow(self) -> None:
        """Stand there only while a sheet does."""
        self.setVisible(any(not sheet.isHidden() for sheet in self._sheets))
        self._fit()
