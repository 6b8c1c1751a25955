"""The notice about the condition of the history that was opened."""

from hermes_desktop.core.events import Notice
from hermes_desktop.state.records.records import StoreCondition

KEY = "store-condition"


def notice_of(condition: StoreCondition) -> Notice | None:
    """Return the notice for a store that is read-only, or that another version wrote.

    Returns:
        None when there is nothing to report.
    """
    if not condition.writable:
        return Notice("warning", condition.title, condition.reason, condition.hint, key=KEY)
    if condition.notice:
        title = "This history was written by another version of Hermes."
        return Notice("info", title, condition.notice, key=KEY)
    return None
