"""``--demo --screenshot``: continue a session, wait for the reply, save a picture of the window."""

import asyncio
from pathlib import Path

from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.services.assembly.demo_home import DEMO_PROMPT, DEMO_SESSION_TITLE
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.shell.main_window import FIRST_SIZE, MainWindow

REPLY_WITHIN_S = 60.0
_SETTLE_S = 0.8


async def take_demo_picture(services: DesktopServices, window: MainWindow, file: Path) -> None:
    """Show the demo session, send the scripted prompt and save the picture.

    Raises:
        HermesError: The reply failed or did not arrive, or the file cannot be written.
    """
    page = await services.catalog.page(ListQuery(text=DEMO_SESSION_TITLE))
    if not page.rows:
        raise NotFoundError("The demonstration lacks its session.", DEMO_SESSION_TITLE)
    session = page.rows[0]
    window.resize(FIRST_SIZE)  # screens that are rendered in memory are small
    await window.show_session(session.id)
    finished = await _reply(services, session.id)
    if finished.outcome != "done":
        raise HermesError(
            finished.error_title or "The reply was not finished.",
            finished.error_detail,
            finished.error_hint,
        )
    await services.watch.look()
    await asyncio.sleep(_SETTLE_S)  # the list and the transcript read the stored messages
    if not window.grab().save(str(file), "PNG"):
        raise HermesError(
            "The picture cannot be saved.", str(file), "Choose a file in an existing folder."
        )


async def _reply(services: DesktopServices, session_id: str) -> TurnFinished:
    result: asyncio.Future[TurnFinished] = asyncio.get_running_loop().create_future()

    def note(event: TurnFinished) -> None:
        if not result.done():
            result.set_result(event)

    unsubscribe = services.bus.subscribe(TurnFinished, note)
    try:
        await services.chat.send(DEMO_PROMPT, session_id=session_id)
        return await asyncio.wait_for(result, REPLY_WITHIN_S)
    except TimeoutError as error:
        raise HermesError(
            "The scripted reply did not arrive.", f"Waited {REPLY_WITHIN_S:.0f} s."
        ) from error
    finally:
        unsubscribe()
