"""Storing of a title that was entered in the page's header."""

from contextlib import suppress

from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.ui.chat.session_refresh import SessionRefresh
from hermes_desktop.ui.chat.shown_session import ShownSession


async def store_title(
    services: DesktopServices, refresh: SessionRefresh, shown: ShownSession, title: str
) -> None:
    """Rename the session and read it again; if it is gone by then, the refresh reports that.

    Raises:
        NotFoundError: The session is gone.
        StateError: The title cannot be written.
    """
    if shown.id is None:
        return
    await services.catalog.rename(shown.id, title)
    services.watch.check_now()
    with suppress(NotFoundError):
        await refresh.refresh(shown)
