"""Builder of the private home shown by ``--demo``: a plausible history without any user data.

Everything is written through :class:`SessionDB`, so that the demo holds what a real home would. The
conversations are read from ``resources/demo`` and given dates. Each YAML file there holds
``sessions``, a list of mappings:

    name        unique; the id is made from it
    title       optional; a run of a job is named by the job and the time
    source      as in the database
    minutes     how long ago it began, or
    days, at    how many days ago and at what local time ("18:40")
    chat        optional: id and type of the chat on its platform
    model, cwd, job, archived    optional
    end         optional reason; without one the session is open
    continues   name of the session that was compressed into this one
    branches    name of the session this one was branched from; copy: messages taken along
    messages    list of {you: text} and {hermes: text, reasoning:, calls:}
    drill       instead of messages: cards, expanded to a question and an answer each

A call has ``name``, ``arguments`` and ``result``, which becomes the message of the tool.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from hermes_desktop.core.files.shipped_files import shipped_path
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.state import SessionDB

Script = Mapping[str, Any]

DEFAULT_MODEL = "hermes-4-14b"
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class DemoSession:
    """One conversation, ready to be stored.

    Attributes:
        script: Its mapping in the YAML file.
        id: The id, made from name and time in the format of its source.
        title: None for an untitled session.
        started_at: Epoch seconds.
        messages: Keyword arguments of ``append_message``, in order, with their times.
        ended_at: Epoch seconds, the time of the end or of the last message.
    """

    script: Script
    id: str
    title: str | None
    started_at: float
    messages: tuple[dict[str, Any], ...]
    ended_at: float


def read_scripts(folder: Path) -> list[Script]:
    """Read every file of the folder, ordered by file name.

    Raises:
        OSError: A file cannot be read.
        ValueError: Two sessions have the same name.
    """
    import yaml  # noqa: PLC0415 - only the demo needs it here

    # The C loader reads all of it in a few milliseconds; not every build has it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    scripts: dict[str, Script] = {}
    for file in sorted(folder.glob("*.yaml")):
        document = yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506 - a safe loader
        for script in document["sessions"]:
            if scripts.setdefault(script["name"], script) is not script:
                raise ValueError(f"Two demo sessions are named {script['name']}")
    return list(scripts.values())


def schedule_sessions(scripts: list[Script], now: float) -> list[DemoSession]:
    """Assign times and ids to all sessions, and return them with the oldest first.

    Args:
        scripts: The result of :func:`read_scripts`.
        now: Epoch seconds; no time is later.
    """
    by_name = {script["name"]: script for script in scripts}
    placed = [_place(script, by_name, now) for script in scripts]
    return sorted(placed, key=lambda session: session.started_at)


def _place(script: Script, by_name: Mapping[str, Script], now: float) -> DemoSession:
    spoken = list(_spoken(script, by_name))
    start = _start(script, now)
    # The newest conversations end now at the latest, however long they are.
    start = min(start, now - 5.0 - sum(pause for pause, _ in spoken))
    messages: list[dict[str, Any]] = []
    at = start
    for pause, message in spoken:
        at += pause
        messages.append({**message, "timestamp": at})
    return DemoSession(
        script=script,
        id=_session_id(script, start),
        title=_title(script, start),
        started_at=start,
        messages=tuple(messages),
        ended_at=at + 90.0 if at + 90.0 < now else at,
    )


def _start(script: Script, now: float) -> float:
    if "minutes" in script:
        return now - float(script["minutes"]) * _MINUTE
    hour, minute = script["at"].split(":")
    day = datetime.fromtimestamp(now).astimezone() - timedelta(days=script["days"])
    return day.replace(hour=int(hour), minute=int(minute), second=12, microsecond=0).timestamp()


def _title(script: Script, started_at: float) -> str | None:
    if "job" in script:
        local = datetime.fromtimestamp(started_at).astimezone()
        return f"{script['job']} · {local:%b %d %H:%M}"
    title: str | None = script.get("title")
    return title


def _session_id(script: Script, started_at: float) -> str:
    mark = hashlib.sha256(script["name"].encode()).hexdigest()
    local = datetime.fromtimestamp(started_at).astimezone()
    source = script["source"]
    if source == "cron":
        job = hashlib.sha256(script["job"].encode()).hexdigest()[:12]
        return f"cron_{job}_{local:%Y%m%d_%H%M%S}"
    if source == "api_server":
        return f"api_{started_at:.0f}_{mark[:8]}"
    digits = 8 if "chat" in script else 6
    return f"{local:%Y%m%d_%H%M%S}_{mark[:digits]}"


def _spoken(
    script: Script, by_name: Mapping[str, Script]
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield each message with the seconds that pass before it."""
    lines = list(_drill(script["drill"]) if "drill" in script else script["messages"])
    if "branches" in script:
        lines[:0] = by_name[script["branches"]]["messages"][: script["copy"]]
    for number, line in enumerate(lines):
        if "you" in line:
            text = line["you"].rstrip("\n")
            yield _pause(text, slowest=240.0), {"role": "user", "content": text}
        else:
            yield from _reply(line, f"{script['name']}_{number}")


def _reply(line: Script, mark: str) -> Iterator[tuple[float, dict[str, Any]]]:
    text = line["hermes"].rstrip("\n")
    calls = line.get("calls", ())
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if "reasoning" in line:
        message["reasoning"] = line["reasoning"].rstrip("\n")
    ids = [f"call_{mark}_{position}" for position in range(len(calls))]
    if calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for call_id, call in zip(ids, calls, strict=True)
        ]
    message["finish_reason"] = "tool_calls" if calls else "stop"
    yield _pause(text, slowest=25.0), message
    for call_id, call in zip(ids, calls, strict=True):
        result = {
            "role": "tool",
            "content": json.dumps(call["result"], ensure_ascii=False),
            "tool_call_id": call_id,
            "tool_name": call["name"],
        }
        yield 1.7, result


def _pause(text: str, *, slowest: float) -> float:
    """Return the time it took to write a text: proportional to its length, and deterministic."""
    return min(slowest, 3.0 + len(text) * slowest / 800.0)


def _drill(drill: Script) -> Iterator[Script]:
    """Expand cards ``word | meaning`` (optionally with a wrong answer) into a long conversation."""
    cards = [[part.strip() for part in card.split("|")] for card in drill["cards"]]
    yield {"you": drill["opening"]}
    yield {"hermes": drill["first"].format(word=cards[0][0])}
    for card, following in pairwise(cards):
        yield {"you": card[-1]}
        verdict = "right" if card[-1] == card[1] else "wrong"
        text = drill[verdict].format(last=card[0], meaning=card[1], word=following[0])
        yield {"hermes": text}
    missed = sum(card[-1] != card[1] for card in cards)
    yield {"you": cards[-1][-1]}
    yield {"hermes": drill["closing"].format(last=cards[-1][0], wrong=missed, all=len(cards))}


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
        raise FileExistsError(f"{paths.state_db} already exists")
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
