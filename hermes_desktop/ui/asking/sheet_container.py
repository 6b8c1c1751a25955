"""The container of request sheets between the transcript and the message field."""

from PySide6.QtCore import QEvent, QMargins, QObject, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

_LEAST_WIDTH = 200
_LEAST_HEIGHT = 24
SHARE = 0.6
"""Share of the page's height that sheets may take; the transcript shrinks accordingly."""


class ShrinkableContainer(QWidget):
    """A container that fills the remaining space but has a small minimum size.

    What is below it therefore gets the space that it needs.

    Args:
        content: Fills the container. In a layout it would request more space.
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


class SheetContainer(QWidget):
    """A container of sheets, widgets that show themselves while a request is pending.

    A sheet that needs more space than there is gets less than its size hint, down to its minimum
    height; long content in it has to scroll. Sheets that are visible together share the space.

    Args:
        page: The page whose height is shared.
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
        """The page on which the container is placed."""
        return self._page

    def add(self, sheet: QWidget) -> None:
        """Add a sheet below those added before. It may be hidden."""
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
        """Limit the height to the sheets' size hint and to the share; beyond that they scroll."""
        wanted, least = self._column.sizeHint().height(), self._column.minimumSize().height()
        if self._column.hasHeightForWidth():
            width = max(self._page.width(), 1)
            wanted = self._column.heightForWidth(width)
            least = self._column.minimumHeightForWidth(width)
        self.setMaximumHeight(min(wanted, max(least, int(self._page.height() * SHARE))))

    def _follow(self) -> None:
        """Show the container only while a sheet is visible."""
        self.setVisible(any(not sheet.isHidden() for sheet in self._sheets))
        self._fit()
