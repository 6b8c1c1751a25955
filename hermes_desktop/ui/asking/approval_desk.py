"""The presenter of approval requests: on the page, or in a dialog while the page is hidden."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import ApprovalRequested, ApprovalResolved
from hermes_desktop.services.agents.approvals_queue import Approvals
from hermes_desktop.ui.asking.approval_sheet import ApprovalSheet
from hermes_desktop.ui.asking.asking_desk import RequestPresenter
from hermes_desktop.ui.asking.sheet_place import SheetContainer
from hermes_desktop.ui.asking.where_words import where_words
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme


class ApprovalPresenter(RequestPresenter[ApprovalRequested, ApprovalResolved]):
    """Presenter of approvals: shows the oldest first, the rest by stepping. Closing denies.

    Args:
        approvals: The queue.
        bridge: The signals for its events.
        place: The container of the sheet.
        window: See :class:`RequestPresenter`, as for the rest.
        shown: Returns the id of the session on the page.
    """

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        approvals: Approvals,
        bridge: EventBridge,
        *,
        place: SheetContainer,
        window: QWidget,
        theme: Theme,
        clock: Clock,
        shown: Callable[[], str | None],
    ) -> None:
        sheets = ApprovalSheet(theme, clock.time), ApprovalSheet(theme, clock.time)
        super().__init__(approvals, sheets, place=place, window=window, shown=shown, now=clock.time)
        self._approvals = approvals
        self._looked_at = ""
        self.sheet, self.dialog_sheet = sheets
        for sheet in sheets:
            sheet.step_wanted.connect(self._step)
        bridge.approval_requested.connect(self._begin)
        bridge.approval_resolved.connect(self._settle)

    @override
    def _answer(self, request_id: str, answer: str) -> None:
        if answer in {"once", "session", "always", "deny"}:
            self._approvals.answer(request_id, answer)  # type: ignore[arg-type]
        self._show()

    @override
    def _put_away(self) -> None:
        self.dialog_sheet.escape()

    @override
    def _choose(self, waiting: Sequence[ApprovalRequested]) -> ApprovalRequested:
        return waiting[self._at(waiting)]

    @override
    def _in_words(self, asked: ApprovalRequested) -> str:
        return " ".join(asked.why)

    @override
    def _end_words(self, settled: ApprovalResolved) -> str:
        if settled.reason == "timeout":
            return self.tr("Denied: the request timed out.")
        if settled.reason != "answered" or settled.by in {"", "window"}:
            return ""
        done = {
            "once": self.tr("allowed once"),
            "session": self.tr("allowed in this session"),
            "always": self.tr("always allowed"),
            "deny": self.tr("denied"),
        }
        return self.tr("Answered {}: {}.").format(where_words(settled.by), done[settled.choice])

    @override
    def _show_none(self) -> None:
        self._looked_at = ""
        super()._show_none()

    def _step(self, by: int) -> None:
        waiting = self._approvals.pending()
        at = self._at(waiting) + by
        if 0 <= at < len(waiting):
            self._looked_at = waiting[at].request_id
            self._show()

    def _at(self, waiting: Sequence[ApprovalRequested]) -> int:
        """Return the index of the approval to show, the oldest unless the user stepped on."""
        ids = [each.request_id for each in waiting]
        return ids.index(self._looked_at) if self._looked_at in ids else 0
