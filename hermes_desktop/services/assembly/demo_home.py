"""Builder of the private home shown by ``--demo``: a plausible history without any user data.

Everything is written through :class:`SessionDB`, so that the demo holds what a real home would.
"""

from datetime import datetime
from pathlib import Path

from hermes_desktop.core.files.shipped_files import shipped_path
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.demo_script import (
    DEFAULT_MODEL,
    DemoSession,
    read_scripts,
    schedule_sessions,
)
from hermes_desktop.state import SessionDB

DEMO_SESSION_TITLE = "Watering schedule for the balcony"
"""The session that ``--demo --screenshot`` continues: recent, and showing every feature."""

DEMO_PROMPT = (
    "Half past seven is perfect. One more thing: could you write a small Python function that"
    " finds the words I use most in my garden diary?"
)
"""The prompt sent in it; the scripted provider has a reply for it."""

_CHARACTERS_A_TOKEN = 4


class StoryClock:
    """A clock that shows the current time of the demo's story."""

    def __init__(self) -> None:
        self.at = 0.0

    def time(self) -> float:
        """Return epoch seconds in the story."""
        return self.at

    def monotonic(self) -> float:
        """Return the same time; the clock is never set back in the story."""
        return self.at

    def now(self) -> datetime:
        """Return local time in the story, without a zone."""
        return datetime.fromtimestamp(self.at)  # noqa: DTZ006 - naive local by definition


def create_demo_home(folder: Path, *, now: float) -> HermesPaths:
    """Create a home with about sixty sessions. Blocks for about a second.

    Args:
        folder: The folder; it must exist, be empty and belong to the demo alone.
        now: Epoch seconds of the end of the story. Everything else is always the same.

    Returns:
        The home's paths, of a default profile whose root is the folder itself.

    Raises:
        FileExistsError: The folder already holds a history.
        StateError: The database cannot be written.
    """
    paths = HermesPaths(home=folder, root=folder)
    if paths.state_db.exists():
        raise FileExistsError(f"{paths.state_db} is there already")
    sessions = schedule_sessions(read_scripts(shipped_path("demo")), now)
    ids = {str(session.script["name"]): session.id for session in sessions}
    clock = StoryClock()
    clock.at = sessions[0].started_at
    db = SessionDB(paths.state_db, clock=clock)
    try:
        for session in sessions:
            _store(db, clock, session, ids)
    finally:
        db.close()
    return paths


def _store(db: SessionDB, clock: StoryClock, session: DemoSession, ids: dict[str, str]) -> None:
    script = session.script
    clock.at = session.started_at
    chat = script.get("chat", {})
    parent = script.get("continues") or script.get("branches")
    branched_from = ids[script["branches"]] if "branches" in script else None
    db.create_session(
        session.id,
        script["source"],
        model=script.get("model", DEFAULT_MODEL),
        model_config={"_branched_from": branched_from} if branched_from else None,
        parent_session_id=ids[parent] if parent else None,
        chat_id=chat.get("id"),
        chat_type=chat.get("type"),
        cwd=script.get("cwd"),
    )
    db.replace_messages(session.id, session.messages)
    if session.title is not None:
        db.set_session_title(session.id, session.title)
    said = _tokens(session, "assistant")
    heard = _tokens(session, "user") + _tokens(session, "tool")
    db.update_token_counts(session.id, heard, said, absolute=True)
    clock.at = session.ended_at
    if "end" in script:
        db.end_session(session.id, script["end"])
    if script.get("archived"):
        db.set_session_archived(session.id, archived=True)


def _tokens(session: DemoSession, role: str) -> int:
    texts = (message["content"] for message in session.messages if message["role"] == role)
    return sum(len(text) // _CHARACTERS_A_TOKEN for text in texts)
