"""The checks after a soak test."""

import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.access import refusals
from hermes_desktop.gateway.delivery.delivery import MAYBE_TWICE
from hermes_desktop.gateway.delivery.resume_after_restart import GIVEN_UP, SEND_AGAIN
from tests.fakes.soak_crowd import Crowd, Said
from tests.fakes.soak_words import MIXED, conversations, marked
from tests.fakes.socket_chat import SentText


def _title(error: HermesError) -> str:
    return str(error.title)


TELLING = {
    SEND_AGAIN: "told to send it again",
    GIVEN_UP: "told that it was given up",
    _title(refusals.closing()): "told that the gateway closes",
    _title(refusals.too_many_waiting(32)): "told that too much waits",
}
"""Messages to a chat when one of its messages will not be answered, and their meaning."""


def judge_answers(crowd: Crowd) -> tuple[Counter[str], list[str]]:
    """Return how often each kind of outcome of a question occurred, and the errors."""
    plain: Counter[str] = Counter()
    honest: Counter[str] = Counter()
    wrong: list[str] = []
    by_chat: dict[str, list[tuple[int, SentText]]] = defaultdict(list)
    for at, sent in enumerate(crowd.chat.sent):
        by_chat[sent.chat].append((at, sent))
        maybe_twice = sent.text.startswith(MAYBE_TWICE)
        (honest if maybe_twice else plain).update(marked(sent.text, "done"))
        strange = {name for name in conversations(sent.text) if name.split(".")[0] != sent.chat}
        if strange or MIXED in sent.text:
            wrong.append(f"chat {sent.chat} was told of {strange}: {sent.text}")
    ends: Counter[str] = Counter()
    cut_off = _interrupted(crowd)
    # Questions that their senders ended come last: they need no message.
    for said in sorted(crowd.said, key=crowd.was_ended):
        question = said.question
        if plain[question] > 1:
            end = "ANSWERED TWICE"
        elif honest[question]:
            end = "answered, and perhaps again" if plain[question] else "answered, perhaps again"
        elif plain[question]:
            end = "answered once"
        else:
            end = _without_answer(crowd, said, by_chat[said.conversation.chat], cut_off)
        ends[end] += 1
        if end.isupper():
            wrong.append(f"{question} ({said.message_id}): {end}")
    return ends, wrong


def _without_answer(
    crowd: Crowd, said: Said, texts: list[tuple[int, SentText]], interrupted: set[str]
) -> str:
    """Return why there was no answer; the message that says so is removed, as it counts once."""
    if said.question in interrupted and said.has_next:
        return "interrupted by the next"
    for place, (at, sent) in enumerate(texts):
        told = next((end for words, end in TELLING.items() if words in sent.text), None)
        if told is not None and at >= said.sent_before:
            del texts[place]
            return told
    return "ended by its person" if crowd.was_ended(said) else "LOST"


def _interrupted(crowd: Crowd) -> set[str]:
    """Return the questions whose answers were interrupted, if new messages interrupt turns."""
    if not crowd.gateway.was_interruptible:
        return set()
    with closing(_reading(crowd.gateway.home / "state.db")) as conn:
        rows = conn.execute("SELECT content FROM messages WHERE finish_reason = 'interrupted'")
        return {name for (content,) in rows for name in marked(str(content), "begin")}


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def judge_home(home: Path) -> tuple[dict[str, Any], list[str]]:
    """Return figures about the files of a home, and the errors in them."""
    with closing(_reading(home / "state.db")) as conn:
        wrong = [*_wrong_counters(conn), *_mixed_sessions(conn), *_wrong_routes(conn, home)]
        integrity = conn.execute("PRAGMA integrity_check").fetchone()[0]
        figures = {
            "sessions": conn.execute("SELECT count(*) FROM sessions").fetchone()[0],
            "messages": conn.execute("SELECT count(*) FROM messages").fetchone()[0],
            "chats": conn.execute("SELECT count(*) FROM gateway_routing").fetchone()[0],
            "deliveries": dict(
                conn.execute("SELECT state, count(*) FROM delivery_obligations GROUP BY state")
            ),
        }
    if integrity != "ok":
        wrong.append(f"state.db: {integrity}")
    with closing(_reading(home / "desktop" / "desktop.db")) as own:
        figures["inbox"] = dict(own.execute("SELECT state, count(*) FROM inbox GROUP BY state"))
    return figures, wrong


def _wrong_counters(conn: sqlite3.Connection) -> list[str]:
    rows = conn.execute(
        "SELECT s.id, s.message_count, count(m.id) FROM sessions s "
        "LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id HAVING s.message_count <> "
        "count(m.id)"
    ).fetchall()
    return [f"session {name} counts {said} messages and has {has}" for name, said, has in rows]


def _mixed_sessions(conn: sqlite3.Connection) -> list[str]:
    whose: dict[str, set[str]] = defaultdict(set)
    for session, content in conn.execute("SELECT session_id, content FROM messages"):
        whose[session] |= conversations(str(content))
    chats = dict(conn.execute("SELECT id, chat_id FROM sessions"))
    mixed = [f"session {name} holds words of {names}" for name, names in whose.items() if
             len(names) > 1]  # fmt: skip
    misplaced = [
        f"session {session} of chat {chats[session]} holds words of {names}"
        for session, names in whose.items()
        if any(name.split(".")[0] != chats[session] for name in names)
    ]
    return mixed + misplaced


def _wrong_routes(conn: sqlite3.Connection, home: Path) -> list[str]:
    table = {
        key: json.loads(entry)
        for key, entry in conn.execute("SELECT session_key, entry_json FROM gateway_routing")
    }
    mirror = json.loads((home / "sessions" / "sessions.json").read_text(encoding="utf-8"))
    mirror = {key: entry for key, entry in mirror.items() if not key.startswith("_")}
    if table == mirror:
        return []
    keys = sorted(key for key in table.keys() | mirror.keys() if table.get(key) != mirror.get(key))
    return [
        f"{key}: the table says {table.get(key)}, the mirror {mirror.get(key)}" for key in keys[:5]
    ]


def unseen_notes(home: Path, notes: dict[str, str]) -> tuple[int, list[str]]:
    """Return how many later answers had seen the notes of another program, and the errors."""
    seen, wrong = 0, []
    with closing(_reading(home / "state.db")) as conn:
        for name, session in notes.items():
            rows = conn.execute(
                "SELECT role, content FROM messages WHERE session_id = ? AND active = 1 AND id > "
                "(SELECT max(id) FROM messages WHERE session_id = ? AND content = ?) ORDER BY id",
                (session, session, f"(note {name})"),
            ).fetchall()
            answers = [str(content) for role, content in rows if marked(str(content), "done")]
            seen += len(answers)
            wrong += [
                f"the note {name} was not seen by: {each}"
                for each in answers
                if name not in marked(each, "saw")
            ]
    return seen, wrong
