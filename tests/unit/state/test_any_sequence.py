"""Any sequence of calls leaves counters, lineage and search index as a simple model says."""

import contextlib
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from hermes_desktop.state import SessionDB, TitleError
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.database.schema import FULL_TEXT
from hermes_desktop.state.sessions.bulk_selection import SessionFilter

TEXTS = st.sampled_from(["", "hello", "two words", "旅行の話", "\ud800 odd", "'quoted' -x a/b"])
CONTENTS = TEXTS | st.just([{"type": "text", "text": "parts"}]) | st.none()
TITLES = st.sampled_from(["Trip", "Trip #2", "trip", "Other"])
ENDS = st.sampled_from(["tui_close", "compression", "branched", "agent_close"])
CALLS = st.none() | st.lists(st.just({"id": "c"}), max_size=2)


@dataclass
class Said:
    """One message row as the model knows it."""

    id: int
    role: str
    content: Any
    calls: int
    active: bool = True
    compacted: bool = False


@dataclass
class Talk:
    """One session as the model knows it."""

    parent: str | None = None
    mark: str | None = None
    title: str | None = None
    end: str | None = None
    archived: bool = False
    count: int = 0
    calls: int = 0
    rewinds: int = 0
    said: list[Said] = field(default_factory=list)

    def count_said(self, fresh: list[Said]) -> None:
        self.count = len(fresh)
        self.calls = sum(each.calls for each in fresh)


def clean(content: Any) -> Any:
    return content.replace("\ud800", "�") if isinstance(content, str) else content


class AnySequence(RuleBasedStateMachine):
    """Calls of SessionDB beside the same on plain objects."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.db = SessionDB(self.folder / "state.db")
        self.talks: dict[str, Talk] = {}
        self.made = 0

    def teardown(self) -> None:
        self.db.close()
        shutil.rmtree(self.folder)

    # ------------------------------------------------------------------ making

    def new_id(self) -> str:
        self.made += 1
        return f"s{self.made}"

    @initialize(target=sessions)
    def begin(self) -> str:
        return self.create()

    @rule(target=sessions)
    def create(self) -> str:
        name = self.new_id()
        self.db.create_session(name, "cli")
        self.talks[name] = Talk()
        return name

    @rule(target=sessions, parent=sessions, kind=st.sampled_from([None, "_delegate_from"]))
    def create_child(self, parent: str, kind: str | None) -> Any:
        if parent not in self.talks:
            return multiple()
        name = self.new_id()
        config = {kind: parent} if kind else None
        self.db.create_session(name, "cli", parent_session_id=parent, model_config=config)
        self.talks[name] = Talk(parent=parent, mark=kind)
        return name

    @rule(target=sessions, origin=sessions)
    def branch(self, origin: str) -> Any:
        if origin not in self.talks:
            return multiple()
        name = self.new_id()
        copied = self.db.create_branch(Branch(origin, name))
        old = self.talks[origin]
        rows = self.db.get_messages(name)
        active = [said for said in old.said if said.active]
        assert copied == len(rows) == len(active)
        said = [
            Said(row["id"], each.role, each.content, each.calls)
            for row, each in zip(rows, active, strict=True)
        ]
        title = self.db.get_session_title(name)
        assert (title is None) == (old.title is None)
        self.talks[name] = Talk(parent=origin, mark="_branched_from", title=title, said=said)
        self.talks[name].count_said(said)
        return name

    # ------------------------------------------------------------------ talking

    @rule(name=sessions, role=st.sampled_from(["user", "assistant"]), content=CONTENTS, calls=CALLS)
    def append(self, name: str, role: str, content: Any, calls: list[Any] | None) -> None:
        if name in self.talks:
            row = self.db.append_message(name, role, content, tool_calls=calls)
            talk = self.talks[name]
            talk.said.append(Said(row, role, clean(content), len(calls or ())))
            talk.count += 1
            talk.calls += len(calls or ())

    @rule(name=sessions, contents=st.lists(CONTENTS, max_size=3), active_only=st.booleans())
    def replace(self, name: str, contents: list[Any], *, active_only: bool) -> None:
        if name in self.talks:
            self.db.replace_messages(name, self.messages(contents), active_only=active_only)
            talk = self.talks[name]
            kept = [each for each in talk.said if active_only and not each.active]
            self.take_new(name, contents, kept)

    @rule(name=sessions, contents=st.lists(CONTENTS, min_size=1, max_size=3))
    def compact(self, name: str, contents: list[Any]) -> None:
        if name in self.talks:
            talk = self.talks[name]
            active = [each for each in talk.said if each.active]
            assert self.db.archive_and_compact(name, self.messages(contents)) == len(active)
            for each in active:
                each.active, each.compacted = False, True
            self.take_new(name, contents, talk.said)

    @staticmethod
    def messages(contents: list[Any]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": content} for content in contents]

    def take_new(self, name: str, contents: list[Any], kept: list[Said]) -> None:
        rows = self.db.get_messages(name, include_inactive=True)[len(kept) :]
        fresh = [
            Said(row["id"], "user", clean(content), 0)
            for row, content in zip(rows, contents, strict=True)
        ]
        self.talks[name].said = [*kept, *fresh]
        self.talks[name].count_said(fresh)

    @rule(name=sessions, data=st.data())
    def rewind(self, name: str, data: st.DataObject) -> None:
        asked = [each for each in self.talks.get(name, Talk()).said if each.role == "user"]
        if asked:
            target = data.draw(st.sampled_from(asked))
            hit = [e for e in self.talks[name].said if e.id >= target.id and e.active]
            assert self.db.rewind_to_message(name, target.id)["rewound_count"] == len(hit)
            for each in hit:
                each.active = False
            self.talks[name].rewinds += 1

    # ------------------------------------------------------------------ the row

    @rule(name=sessions, title=TITLES | st.none())
    def entitle(self, name: str, title: str | None) -> None:
        holder = next((n for n, t in self.talks.items() if title and t.title == title), None)
        known = name in self.talks
        if known and holder not in {None, name} and holder not in self.ancestors(name):
            with contextlib.suppress(TitleError):
                self.db.set_session_title(name, title)
                raise AssertionError("a title that another session has")
            return
        assert self.db.set_session_title(name, title) == known
        if known:
            if holder:
                self.talks[holder].title = None
            self.talks[name].title = title

    def continues(self, name: str) -> bool:
        """Whether this session is another segment of its parent's conversation."""
        talk = self.talks[name]
        parent = self.talks.get(talk.parent or "")
        return talk.mark is None and parent is not None and parent.end == "compression"

    def ancestors(self, name: str) -> list[str]:
        found = []
        while self.continues(name):
            name = self.talks[name].parent or ""
            found.append(name)
        return found

    def conversation(self, name: str) -> set[str]:
        members = {[name, *self.ancestors(name)][-1]}
        while fresh := {
            each
            for each, talk in self.talks.items()
            if talk.parent in members and each not in members and self.continues(each)
        }:
            members |= fresh
        return members

    @rule(name=sessions, reason=ENDS)
    def end(self, name: str, reason: str) -> None:
        self.db.end_session(name, reason)
        if name in self.talks and self.talks[name].end is None:
            self.talks[name].end = reason

    @rule(name=sessions)
    def reopen(self, name: str) -> None:
        self.db.reopen_session(name)
        if name in self.talks:
            self.talks[name].end = None

    @rule(name=sessions, archived=st.booleans())
    def archive(self, name: str, *, archived: bool) -> None:
        known = name in self.talks
        assert self.db.set_session_archived(name, archived) == known
        for member in self.conversation(name) if known else ():
            self.talks[member].archived = archived

    # ------------------------------------------------------------------ going

    def take_out(self, names: set[str], *, cascade: bool = True) -> None:
        gone = set(names)
        while cascade and (
            fresh := {
                each
                for each, talk in self.talks.items()
                if talk.parent in gone and talk.mark == "_delegate_from" and each not in gone
            }
        ):
            gone |= fresh
        for name in gone:
            del self.talks[name]
        for talk in self.talks.values():
            if talk.parent in gone:
                talk.parent = None

    @rule(name=consumes(sessions))
    def delete(self, name: str) -> None:
        known = name in self.talks
        assert self.db.delete_sessions([name]) == known
        if known:
            self.take_out({name})

    @rule(name=sessions)
    def delete_conversation(self, name: str) -> None:
        scope = self.db.lineage_ids_for_delete(name)
        members = self.conversation(name) if name in self.talks else set()
        assert set(scope.session_ids) == members
        assert self.db.delete_sessions(scope.session_ids) == len(members)
        before = set(self.talks)
        self.take_out(members)
        assert before - set(self.talks) == members | set(scope.subagent_ids)

    @precondition(lambda self: len(self.talks) > 6)
    @rule()
    def prune(self) -> None:
        gone = {name for name, talk in self.talks.items() if talk.end}
        assert self.db.prune(SessionFilter()) == len(gone)
        self.take_out(gone, cascade=False)

    def exported(self, name: str) -> dict[str, Any] | None:
        whole = self.db.export_session_lineage(name) or {"segments": []}
        return next((each for each in whole["segments"] if each["id"] == name), None)

    @rule(name=sessions)
    def move_out_and_in(self, name: str) -> None:
        """Export, delete, import: what was taken back is lost, everything else comes back."""
        exported = self.exported(name)
        assert (exported is None) == (name not in self.talks)
        if exported is None:
            return
        old = self.talks[name]
        self.db.delete_sessions([name])
        self.take_out({name})
        result = self.db.import_sessions([exported])
        assert result["imported_ids"] == [name]
        assert result["retitled"] == []
        said = [Said(e.id, e.role, e.content, e.calls) for e in old.said if e.active]
        self.talks[name] = Talk(
            parent=old.parent if old.parent in self.talks else None,
            mark=old.mark,
            title=old.title,
            end=old.end,
            archived=old.archived,
            said=said,
        )
        self.talks[name].count_said(said)
        for message in exported["messages"]:
            message["compacted"] = 0  # what was summarised away and restored is plainly active
        again = self.exported(name) or {}
        counted = ("message_count", "tool_call_count", "rewind_count", "parent_session_id")
        assert {**again, **{key: exported[key] for key in counted}} == exported

    # ------------------------------------------------------------------ truth

    @invariant()
    def rows_are_as_the_model_says(self) -> None:
        rows = self.db.read(lambda conn: conn.execute("SELECT * FROM sessions").fetchall())
        assert {row["id"] for row in rows} == set(self.talks)
        for row in rows:
            talk = self.talks[row["id"]]
            assert (
                row["parent_session_id"],
                row["title"],
                row["end_reason"],
                bool(row["archived"]),
                row["message_count"],
                row["tool_call_count"],
                row["rewind_count"],
            ) == (
                talk.parent,
                talk.title,
                talk.end,
                talk.archived,
                talk.count,
                talk.calls,
                talk.rewinds,
            )
            assert (row["ended_at"] is None) == (talk.end is None)

    @invariant()
    def messages_are_as_the_model_says(self) -> None:
        total = 0
        for name, talk in self.talks.items():
            found = self.db.get_messages(name, include_inactive=True)
            assert [
                (m["id"], m["role"], m["content"], bool(m["active"]), bool(m["compacted"]))
                for m in found
            ] == [(e.id, e.role, e.content, e.active, e.compacted) for e in talk.said]
            total += len(found)
        assert self.db.message_count() == total

    @invariant()
    def the_index_is_complete(self) -> None:
        words = "content || ' ' || coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '')"
        wanted = self.db.read(
            lambda conn: conn.execute(
                f"SELECT id, {words.replace('content', 'coalesce(content, ?)', 1)} FROM messages "
                "ORDER BY id",
                ("",),
            ).fetchall()
        )
        for table in FULL_TEXT:
            sql = f"SELECT rowid, content FROM {table} ORDER BY rowid"
            found = self.db.read(lambda conn, sql=sql: conn.execute(sql).fetchall())  # type: ignore[misc]
            assert [tuple(row) for row in found] == [tuple(row) for row in wanted]

    @invariant()
    def lists_and_lineage_hold_together(self) -> None:
        shown = self.db.list_sessions_rich(limit=None, include_archived=True)
        assert len({row["id"] for row in shown}) == len(shown)
        for name in self.talks:
            assert name in self.db.get_compression_lineage(name)
            assert self.db.get_compression_tip(name) in self.talks


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
