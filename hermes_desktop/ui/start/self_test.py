"""``--self-test``: create the parts of a window and a history once, without showing anything."""

from pathlib import Path

from PySide6.QtCore import qVersion

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.start.application import DesktopLoop, create_application, run_on_loop
from hermes_desktop.ui.widgets.theme import Theme


def run_parts(folder: Path) -> list[str]:
    """Open a history in an empty folder and run the loop once.

    Returns:
        Versions of what was used.

    Raises:
        HermesError: A part does not work.
    """
    app = create_application(["hermes-desktop"])
    Theme(app, "light")
    if app.windowIcon().isNull():
        raise HermesError("The icons cannot be drawn.", "", "Install the program again.")
    services = build_services(
        HermesPaths(folder, folder),
        redactor=SecretRedactor(),
        offline=True,
        environ={},
        hosts=False,
    )
    run_on_loop(lambda: _turn_once(services), DesktopLoop(app))
    return [f"Qt {qVersion()}", f"state.db schema {services.db.condition.schema_version}"]


async def _turn_once(services: DesktopServices) -> None:
    await services.start()
    try:
        await services.catalog.page(ListQuery())
    finally:
        await services.close(drain_s=0.0)
