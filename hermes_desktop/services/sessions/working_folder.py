"""The working folder of a session, in which its tools start. Blocking."""

from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.errors import NotFoundError, UsageError
from hermes_desktop.services.transfer.import_cleaning import imported_folder
from hermes_desktop.state import SessionDB


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """The working folder of a session.

    Attributes:
        session_id: The newest part of the conversation.
        current: Its folder; None where the settings decide.
        imported: The folder it had where it was exported; not used unless the user chooses it.
    """

    session_id: str
    current: str | None
    imported: str | None

    @property
    def note(self) -> str:
        """The note to show before the session continues; "" when nothing is special."""
        if self.imported is None or self.current is not None:
            return ""
        return (
            f"This session was imported; it worked in {self.imported} before. To use that folder "
            f"here: `hermes-desktop sessions folder {self.session_id} --imported`"
        )


def working_folder(db: SessionDB, session_id: str) -> WorkingFolder:
    """Read the folder of a conversation.

    Raises:
        NotFoundError: The session is gone.
    """
    shown = db.resolve_resume_session_id(session_id)
    row = db.get_session(shown)
    if row is None:
        raise NotFoundError("This session is no longer there.", f"No row has the id {session_id}.")
    current = row.get("cwd")
    return WorkingFolder(
        shown, current if isinstance(current, str) and current else None,
        imported_folder(row.get("model_config")),
    )  # fmt: skip


def set_working_folder(db: SessionDB, session_id: str, folder: str) -> WorkingFolder:
    """Set the working folder of a conversation to a folder of this machine.

    Args:
        db: The store.
        session_id: Any part of the conversation.
        folder: An existing folder; ``~`` and relative paths are resolved.

    Raises:
        NotFoundError: The session is gone.
        UsageError: There is no such folder; nothing was changed.
    """
    found = working_folder(db, session_id)
    path = Path(folder).expanduser().absolute()
    if "\0" in folder or not path.is_dir():
        raise UsageError("There is no such folder.", str(path), "Give a folder that exists.")
    db.update_session_cwd(found.session_id, str(path))
    return working_folder(db, found.session_id)
