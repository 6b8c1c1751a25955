"""Display text for the working folder of a session, and for how its commands are held. No Qt."""

from pathlib import Path
from typing import Literal

from hermes_desktop.services.agents.command_hold import CommandHold
from hermes_desktop.services.sessions.workplace import Workplace
from hermes_desktop.ui.words.visible_text import one_line

_LONGEST_NAME = 40
_LONGEST_PATH = 200

_HELD = {
    "closed": "Sandboxed",
    "partly": "Partly held",
    "asks": "Asks every time",
    "off": "No sandbox",
}
_OFF = {"settings": "Approvals off", "session": "YOLO"}
_WHERE_OFF = {
    "settings": "Approvals are off in the settings: the assistant asks nothing, in every chat.",
    "session": "Approvals are off in this session (/yolo): the assistant asks nothing here.",
}
_SANDBOX = "Commands run in a sandbox: they change only the working folder and have no network."
_PARTLY = "A partial sandbox holds the contents of files and the network, but nothing else."


def short_name(folder: str) -> str:
    """Return the last part of a path for display."""
    return one_line(Path(folder).name or folder, _LONGEST_NAME)


def shown_path(folder: str) -> str:
    """Return a path for display, with ``~`` for the home folder."""
    path, home = Path(folder), Path.home()
    if path.is_relative_to(home) and path != home:
        return one_line(str(Path("~", path.relative_to(home))), _LONGEST_PATH)
    return one_line(folder, _LONGEST_PATH)


def folder_label(place: Workplace) -> str:
    """Return the label of the folder in the header."""
    return short_name(place.folder) if place.folder else "Choose a folder…"


def folder_tip(place: Workplace) -> str:
    """Return what the folder's label omits."""
    if not place.folder:
        return folder_note(place)
    lines = [f"The assistant works in {shown_path(place.folder)}."]
    if place.condition == "new":
        lines.append("The folder is created when it is first needed.")
    if place.left_home:
        lines.append("It worked in your home folder before, which is too much for one task.")
    return "\n".join([*lines, folder_note(place)]).strip()


def first_folder(place: Workplace) -> str:
    """Return the folder to name on the page of a new chat, while nobody chose one; else ""."""
    return shown_path(place.folder) if place.is_first and place.folder else ""


def folder_note(place: Workplace) -> str:
    """Return what has to be done about the folder; "" for nothing."""
    if place.condition == "unconfirmed":
        return (
            f"This session was imported; it worked in {shown_path(place.imported)} before. Choose "
            "its folder in the header before it works with files."
        )
    if place.condition == "missing":
        return (
            f"The folder {shown_path(place.folder)} is gone. Bring it back, or choose another one "
            "in the header."
        )
    if place.condition == "unwritable":
        return (
            f"You may not read and write in {shown_path(place.folder)}. Change its permissions, or "
            "choose another folder in the header."
        )
    return ""


def hold_label(hold: CommandHold) -> str:
    """Return the few words on how commands are held."""
    if not hold.approvals_off:
        return _HELD[hold.sandboxing]
    off = _OFF[hold.approvals_off]
    is_held = hold.sandboxing in {"closed", "partly"}
    return f"{_HELD[hold.sandboxing]} · {off}" if is_held else off


def hold_tip(hold: CommandHold) -> str:
    """Return the sentences on how commands are held."""
    lines = []
    if hold.approvals_off:
        lines.append(_WHERE_OFF[hold.approvals_off])
    lines.append(_held_words(hold))
    if hold.error:
        lines.append(f"Why there is no closed sandbox: {one_line(hold.error, _LONGEST_PATH)}")
    return "\n".join(lines)


def hold_mood(hold: CommandHold) -> Literal["ok", "plain", "warning"]:
    """Return how the state is colored; the words say the same."""
    if hold.approvals_off:
        return "warning"
    return "ok" if hold.sandboxing == "closed" else "plain"


def _held_words(hold: CommandHold) -> str:
    off = bool(hold.approvals_off)
    if hold.sandboxing == "closed":
        if off:
            return f"{_SANDBOX} The sandbox stays on."
        asks = " You are asked about risky ones." if hold.asks_risky else " They need no question."
        return _SANDBOX + asks
    if hold.sandboxing == "partly":
        return f"{_PARTLY} {'It stays on.' if off else 'You are asked about risky commands.'}"
    if hold.sandboxing == "asks":
        return (
            "No sandbox works on this computer, so commands run without one."
            if off
            else "There is no closed sandbox here, so every command asks you first."
        )
    return "Commands run without a sandbox." + ("" if off else " You are asked about risky ones.")
