"""Loading indicators: old content grayed out after 150 ms, a progress line after 400 ms."""

from PySide6.QtCore import QObject, QTimer

from hermes_desktop.ui.transcript.transcript_view import TranscriptView

GREY_AFTER_MS = 150
LINE_AFTER_MS = 400


class LoadingIndicators(QObject):
    """Indicators over a transcript while another one is being read."""

    def __init__(self, view: TranscriptView) -> None:
        super().__init__(view)
        self._view = view
        self._grey = QTimer(self, singleShot=True, interval=GREY_AFTER_MS)
        self._line = QTimer(self, singleShot=True, interval=LINE_AFTER_MS)
        self._grey.timeout.connect(lambda: view.set_loading(greyed=True, busy=False))
        self._line.timeout.connect(lambda: view.set_loading(greyed=True, busy=True))

    def begin(self) -> None:
        """Start the timers; a transcript is being read."""
        self._grey.start()
        self._line.start()

    def end(self) -> None:
        """Remove the indicators; the transcript was read, or reading it failed."""
        self._grey.stop()
        self._line.stop()
        self._view.set_loading(greyed=False, busy=False)
