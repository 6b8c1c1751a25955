"""What is remembered, and what waits for a person's word."""

import json
import threading
from pathlib import Path

import pytest

from hermes_desktop.agent.memory_store import LIMITS, MemoryStore
from hermes_desktop.core.errors import NotFoundError, RefusedError
from tests.fakes.tool_stage import ToolStage, call


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path)


def test_entries_have_names_and_can_be_forgotten(store: MemoryStore) -> None:
    store.change("add", "user", "Likes tea")
    store.change("add", "memory", "The door is green")
    [tea] = store.entries("user")
    assert store.find(tea.id) == store.find("TEA") == tea
    assert store.used("user") == len("Likes tea")
    store.forget(tea)
    assert store.entries("user") == ()
    with pytest.raises(NotFoundError, match="no such entry"):
        store.forget(tea)
    with pytest.raises(NotFoundError, match="no such entry"):
        store.find("")
    store.change("add", "memory", "The window is green")
    with pytest.raises(NotFoundError, match="Several"):
        store.find("green")


def test_what_waits_is_done_or_left_alone(store: MemoryStore, tmp_path: Path) -> None:
    store.change("add", "user", "Likes tea")
    add = store.stage("add", "user", "Lives in Ulm", "", now=1.0)
    replace = store.stage("replace", "user", "Likes coffee", "tea", now=2.0)
    remove = store.stage("remove", "user", "", "tea", now=3.0)
    assert [each.id for each in store.pending()] == [add.id, replace.id, remove.id]
    assert store.texts("user") == ["Likes tea"]
    store.approve(add.id)
    store.approve(replace.id)
    assert store.texts("user") == ["Likes coffee", "Lives in Ulm"]
    with pytest.raises(RefusedError, match="in 0 entries"):
        store.approve(remove.id)
    assert [each.id for each in store.pending()] == [remove.id]
    store.reject(remove.id)
    assert store.pending() == ()
    for bad in ("", "../x", "ffffffff", "*"):
        with pytest.raises(NotFoundError):
            store.reject(bad)
    assert list((tmp_path / "pending" / "memory").iterdir()) == []


def test_what_makes_no_sense_is_not_staged_and_not_read(store: MemoryStore, tmp_path: Path) -> None:
    for action, content, old in (("add", "", ""), ("add", "a§b", ""), ("remove", "", "nothing")):
        with pytest.raises(RefusedError):
            store.stage(action, "user", content, old, now=1.0)
    folder = tmp_path / "pending" / "memory"
    folder.mkdir(parents=True)
    good = {"payload": {"action": "add", "target": "user", "content": "x"}, "created_at": "soon"}
    for name, text in {
        "aaaa": "",
        "bbbb": "[]",
        "cccc": json.dumps({"payload": {"action": "run", "target": "user"}}),
        "dddd": json.dumps({"payload": {"action": "add", "target": "../x"}}),
        "no-name": json.dumps(good),
        "eeee": json.dumps(good),
    }.items():
        (folder / f"{name}.json").write_text(text)
    assert [(each.id, each.created_at) for each in store.pending()] == [("eeee", 0.0)]


def test_too_much_changes_nothing(store: MemoryStore) -> None:
    store.change("add", "user", "Likes tea")
    waiting = store.stage("add", "user", "x" * LIMITS["user"], "", now=1.0)
    with pytest.raises(RefusedError, match="too long to remember"):
        store.approve(waiting.id)
    assert store.texts("user") == ["Likes tea"]


def test_nothing_is_lost_when_many_write(store: MemoryStore) -> None:
    def work(number: int) -> None:
        for each in range(5):
            MemoryStore(store._folder.parent).change("add", "memory", f"fact {number} {each}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(store.texts("memory")) == 30


def test_the_tool_waits_for_the_person_where_that_is_set(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path, memory={"write_approval": "on"})
    try:
        [told] = stage.result(call("memory", action="add", target="user", content="Likes tea"))
        assert told["staged"] is True
        store = MemoryStore(stage.home)
        assert store.texts("user") == []
        assert store.approve(told["pending_id"]).content == "Likes tea"
        assert store.texts("user") == ["Likes tea"]
        [told] = stage.result(call("memory", action="remove", target="user", old_text="coffee"))
        assert "in 0 entries" in told["error"]
    finally:
        stage.close()
