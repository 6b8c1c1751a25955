"""The working folder of a session, in which its tools start. Blocking."""

from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.tools.work_folder import why_not
from hermes_desktop.core.errors import NotFoundError, UsageError
from hermes_desktop.core.files.git_facts import git_facts
from hermes_desktop.core.files.hard_links import OutsideLinks
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.stored_values import imported_folder


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
            f"This session was imported; it used the folder {self.imported}. To use that "
            f"folder here: `hermes-desktop sessions folder {self.session_id} --imported`"
        )


def working_folder(db: SessionDB, session_id: str) -> WorkingFolder:
    """Read the folder of a conversation.

    Raises:
        NotFoundError: The session is gone.
    """
    shown = db.resolve_resume_session_id(session_id)
    row = db.get_session(shown)
    if row is None:
        raise NotFoundError(
            "This session no longer exists.", f"There is no session with the ID {session_id}."
        )
    current = row.get("cwd")
    return WorkingFolder(
        shown, current if isinstance(current, str) and current else None,
        imported_folder(row.get("model_config")),
    )  # fmt: skip


def homes_of(paths: HermesPaths) -> Homes:
    """Return the folders in which nothing works: the user's home and the one of Hermes."""
    return Homes(Path.home(), paths.home)


def set_working_folder(db: SessionDB, session_id: str, folder: str, homes: Homes) -> WorkingFolder:
    """Set the working folder of a conversation to a folder of this machine.

    Args:
        db: The store.
        session_id: Any part of the conversation.
        folder: An existing folder; ``~`` and relative paths are resolved.
        homes: The homes.

    Raises:
        NotFoundError: The session is gone.
        UsageError: The folder does not exist or may not be used for work; nothing was changed.
    """
    found = working_folder(db, session_id)
    path = usable_folder(folder, homes)
    facts = git_facts(path)
    db.update_session_cwd(
        found.session_id,
        str(path),
        facts.branch if facts is not None else None,
        str(facts.root) if facts is not None else None,
        moved=True,
    )
    return working_folder(db, found.session_id)


def usable_folder(folder: str, homes: Homes) -> Path:
    """Return a folder in which sessions may work.

    Args:
        folder: ``~`` and relative paths are resolved.
        homes: The homes.

    Raises:
        UsageError: The folder does not exist or may not be used for work.
    """
    path = Path(folder).expanduser().absolute()
    if "\0" in folder or not path.is_dir():
        raise UsageError("There is no such folder.", str(path), "Use an existing folder.")
    reason = why_not(path, homes)
    if reason:
        raise UsageError(
            f"The assistant does not work in {path}.", reason, "Choose another folder."
        )
    return path


def links_note(folder: Path, found: OutsideLinks) -> str:
    """Return what to know about files with names outside a folder; "" if there are none."""
    if not found.count:
        return "" if found.complete else f"Not all of {folder} was checked for hard links."
    few = f"{found.count:,} file{'s' * (found.count != 1)}"
    some = ", ".join(found.names) + (", …" if found.count > len(found.names) else "")
    more = "" if found.complete else " Not everything was checked."
    return (
        f"{few} in {folder} also {'has a name' if found.count == 1 else 'have names'} outside it "
        f"({some}). What is changed in them here is changed there, too.{more}"
    )
