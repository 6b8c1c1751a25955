"""Turns with real tools in a real folder, and what is put back afterwards."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.types import ToolCall
from hermes_desktop.agent.undo.folder_scan import Limits
from hermes_desktop.agent.undo.restoring import Undo, difference, plan_undo, put_back, undone
from hermes_desktop.agent.undo.turn_undo import TurnUndo, UndoStore
from tests.fakes.tool_stage import SID, ToolStage, call


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    made.config["approvals"] = {"mode": "off"}
    yield made
    made.close()


def store_of(stage: ToolStage, **limits: Any) -> UndoStore:
    folder = stage.home / "desktop" / "undo"
    return UndoStore(folder, stage.user_home, stage.home, Limits(**{"free_bytes": 0, **limits}))


@pytest.fixture
def store(stage: ToolStage) -> UndoStore:
    return store_of(stage)


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content: bytes | str = ""
        if stat.S_ISLNK(mode):
            content = str(path.readlink())
        elif stat.S_ISREG(mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (mode, content)
    return found


def turn(stage: ToolStage, store: UndoStore, *calls: ToolCall) -> None:
    for result in stage.result(*calls, undo=store):
        assert not result.get("error"), result
        assert not result.get("exit_code"), result


def shell(command: str, **more: Any) -> ToolCall:
    return call("terminal", command=command, **more)


def plan(store: UndoStore) -> Undo:
    return plan_undo(store, [e for e in store.records.all() if e.state != "undone"])


def states(undo: Undo) -> dict[str, str]:
    return {each.path: each.state for each in undo.steps}


def fill(folder: Path) -> None:
    """Fill a folder with files that nobody has read since they were written, long ago."""
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "thesis.odt").write_bytes(b"\0\1" * 700_000)
    (folder / "src" / "a.py").write_text("one\ntwo\n")
    (folder / "src" / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "src" / "deep" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src/a.py")
    (folder / "empty").mkdir(mode=0o750)
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "ignored").write_text("not tracked")
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "config").write_text("[core]\n")
    for path in folder.rglob("*"):
        os.utime(path, (1.7e9, 1.7e9), follow_symlinks=False)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf -- * .git .gitignore",
        "echo three >> src/a.py; : > thesis.odt; rm ignored; echo x > .git/config",
        "chmod 600 src/deep/run.sh; chmod 700 empty; chmod 500 src; mkdir -p n/m; : >n/m/x",
        "mv src source; ln -s source src; rm link; mkdir link; echo x > link/inner",
        "rm -r empty; echo file > empty; ln -sf /etc/hostname link; mkfifo pipe",
        "cp -r .git g; rm -rf .git; mv g .git; echo '#!/bin/sh' > .git/hooks/pre-commit",
        "printf 'ONE\\ntwo\\n' > x && touch -r src/a.py x && cp -p x src/a.py && rm x",
        "rm src/deep/run.sh && rmdir src/deep && echo a > src/deep",
    ],
)
def test_everything_comes_back(stage: ToolStage, store: UndoStore, command: str) -> None:
    fill(stage.cwd)
    before = tree(stage.cwd)
    turn(stage, store, shell(command))
    assert tree(stage.cwd) != before
    undo = plan(store)
    assert set(states(undo).values()) == {"ready"}
    done = put_back(store, undo)
    assert done.failed == ()
    assert tree(stage.cwd) == before
    assert set(states(plan(store)).values()) == {"as-before"}
    undone(store, undo.records)
    assert plan(store).steps == ()


def test_file_tools_need_no_snapshot(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    outside = stage.user_home / "letter.txt"
    outside.write_text("Dear")
    before = tree(stage.user_home / "work")
    turn(
        stage,
        store,
        call("write_file", path="src/a.py", content="new"),
        call("write_file", path="some/new/file", content="new"),
        call("patch", path=".gitignore", old_string="ignored", new_string="other"),
        call("write_file", path=str(outside), content="Cheap"),
    )
    assert not (stage.home / "desktop" / "undo" / "folders").exists()
    undo = plan(store)
    assert {each.shown for each in undo.steps} == {
        "src/a.py", "some", "some/new", "some/new/file", ".gitignore", str(outside),
    }  # fmt: skip
    assert put_back(store, undo).failed == ()
    assert tree(stage.cwd) == before
    assert outside.read_text() == "Dear"


def test_a_file_tool_before_a_command(stage: ToolStage, store: UndoStore) -> None:
    """The snapshot that the command needs must not take the tool's work for the user's."""
    fill(stage.cwd)
    before = tree(stage.cwd)
    turn(
        stage,
        store,
        call("write_file", path="src/a.py", content="new"),
        call("write_file", path="some/new/file", content="new"),
        shell("echo more >> src/a.py; echo more >> some/new/file; echo x > other"),
    )
    undo = plan(store)
    assert len(undo.records) == 1
    assert put_back(store, undo).failed == ()
    assert tree(stage.cwd) == before


def test_a_turn_that_changes_nothing_leaves_no_record(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("ls; touch src/a.py"), call("read_file", path="src/a.py"))
    assert store.records.names() == []


def test_several_turns_are_undone_together(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    before = tree(stage.cwd)
    turn(stage, store, shell("echo 1 > src/a.py; echo x > new"))
    turn(stage, store, call("write_file", path="src/a.py", content="2"))
    turn(stage, store, shell("rm new ignored"))
    undo = plan(store)
    assert len(undo.records) == 3
    assert states(undo) == {"src/a.py": "ready", "new": "as-before", "ignored": "ready"}
    put_back(store, undo)
    assert tree(stage.cwd) == before


def test_what_others_changed_since_stays(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("echo mine > src/a.py; echo mine > new; rm ignored; rm -r empty"))
    (stage.cwd / "src" / "a.py").write_text("by hand")
    (stage.cwd / "new").write_text("by hand")
    (stage.cwd / "ignored").write_text("by hand")
    undo = plan(store)
    assert states(undo) == {
        "src/a.py": "changed-since", "new": "changed-since", "ignored": "changed-since",
        "empty": "ready",
    }  # fmt: skip
    assert [each.path for each in put_back(store, undo).done] == ["empty"]
    assert (stage.cwd / "src" / "a.py").read_text() == "by hand"

    done = put_back(store, plan(store), overwrite=True)
    assert done.failed == ()
    assert (stage.cwd / "src" / "a.py").read_text() == "one\ntwo\n"
    assert not (stage.cwd / "new").exists()
    kept = [path.read_bytes() for path in (stage.home / "desktop/undo/contents").glob("*/*")]
    assert b"by hand" in kept  # what was replaced is not lost either


def test_a_created_folder_with_files_of_others_stays(stage: ToolStage, store: UndoStore) -> None:
    turn(stage, store, shell("mkdir out; echo x > out/a"))
    (stage.cwd / "out" / "mine").write_text("by hand")
    done = put_back(store, plan(store))
    assert [each.path for each in done.done] == ["out/a"]
    assert [each.path for each, _ in done.failed] == ["out"]
    assert (stage.cwd / "out" / "mine").read_text() == "by hand"


def test_the_difference(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("printf 'one\\nTWO\\n' > src/a.py; echo x > new; : > thesis.odt"))
    shown = {each.path: difference(store, each) for each in plan(store).steps}
    assert shown["src/a.py"].splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-TWO", "+two"]
    assert shown["new"].splitlines()[-1] == "-x"
    assert shown["thesis.odt"] == ""


def test_a_killed_turn_can_be_undone(stage: ToolStage, store: UndoStore) -> None:
    """Nothing is written at the end of a killed turn; what was kept before it is enough."""
    fill(stage.cwd)
    before = tree(stage.cwd)
    killed = TurnUndo(store, SID, 1)
    killed.before_write(stage.cwd / "src" / "a.py", stage.cwd)
    killed.before_command(stage.cwd)
    shutil.rmtree(stage.cwd / "src")
    (stage.cwd / "new").write_text("x")
    undo = plan(store_of(stage))
    assert undo.interrupted
    put_back(store, undo)
    assert tree(stage.cwd) == before


def test_a_killed_undo_is_finished_by_the_next_one(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    before = tree(stage.cwd)
    turn(stage, store, shell("echo 1 > src/a.py; echo 2 > ignored; rm link"))
    undo = plan(store)
    half = Undo(undo.records, undo.steps[:1])
    assert len(put_back(store, half).done) == 1
    assert sorted(states(plan(store)).values()) == ["as-before", "ready", "ready"]
    put_back(store, plan(store))
    assert tree(stage.cwd) == before


def test_limits_are_told(stage: ToolStage) -> None:
    fill(stage.cwd)
    turn(stage, store_of(stage, entries=3), shell("rm ignored"))
    undo = plan(store_of(stage))
    assert undo.steps == ()
    assert "more than 3 files" in undo.not_covered[0]


def test_a_large_file_is_told_as_lost(stage: ToolStage) -> None:
    fill(stage.cwd)
    store = store_of(stage, file_bytes=1000)
    turn(stage, store, shell(": > thesis.odt; rm ignored"))
    undo = plan(store)
    assert states(undo) == {"thesis.odt": "not-kept", "ignored": "ready"}
    assert [each.path for each in put_back(store, undo, overwrite=True).done] == ["ignored"]


def test_own_files_are_kept_before_those_of_tools(stage: ToolStage) -> None:
    for path, size in (("node_modules/x/a.js", 10), ("big.txt", 900), ("b.txt", 90)):
        (stage.cwd / path).parent.mkdir(parents=True, exist_ok=True)
        (stage.cwd / path).write_bytes(b"x" * size)
    store = store_of(stage, folder_bytes=990)
    turn(stage, store, shell("rm -r *"))
    lost = {each.path for each in plan(store).having("not-kept")}
    assert lost == {"node_modules/x/a.js"}


@pytest.mark.parametrize("where", ["user_home", "home"])
def test_no_snapshot_of_a_home(stage: ToolStage, store: UndoStore, where: str) -> None:
    (stage.user_home / "notes").write_text("x")
    stage.platform = "cli"  # elsewhere no turn works in the user's home
    stage.cwd = getattr(stage, where)
    turn(stage, store, shell("rm -f notes"))
    undo = plan(store)
    assert undo.steps == ()
    assert len(undo.not_covered) == 1
    assert not (stage.home / "desktop" / "undo" / "contents").exists()


def test_nothing_is_put_back_through_a_link(stage: ToolStage, store: UndoStore) -> None:
    """What runs meanwhile must not make the undo write outside of the folder."""
    fill(stage.cwd)
    (stage.user_home / "private").mkdir()
    turn(stage, store, shell("rm -r src"))
    (stage.cwd / "src").symlink_to("../private")
    done = put_back(store, plan(store), overwrite=False)
    assert [each.path for each in done.done] == []
    assert list((stage.user_home / "private").iterdir()) == []


def test_kept_files_are_private(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("rm -r src"))
    for path in (stage.home / "desktop" / "undo").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_an_unchanged_folder_is_not_copied_again(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("echo 1 > new"))
    contents = stage.home / "desktop" / "undo" / "contents"
    first = {path: path.stat().st_ino for path in contents.rglob("*")}
    turn(stage, store, shell("echo 2 > new"))
    second = {path: path.stat().st_ino for path in contents.rglob("*")}
    assert first.items() <= second.items()


def test_old_turns_are_forgotten(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("rm ignored"))
    folder = stage.home / "desktop" / "undo"
    for path in folder.rglob("*"):
        os.utime(path, (1, 1))
    (name,) = store.records.names()
    (folder / "turns" / f"{name}.json").rename(folder / "turns" / "00000000000001-0.json")
    store.tidy(10e9)
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "tidied"]


def test_what_is_needed_is_not_tidied(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    before = tree(stage.cwd)
    turn(stage, store, shell("rm ignored; echo > src/a.py"))
    folder = stage.home / "desktop" / "undo"
    for path in [*folder.rglob("contents/*/*"), folder / "tidied"]:
        os.utime(path, (1, 1))
    store.tidy(next(iter(store.records.all())).began / 1e9 + 7200)
    put_back(store, plan(store))
    assert tree(stage.cwd) == before


def test_records_that_cannot_be_read_are_left_out(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("rm ignored"))
    turns = stage.home / "desktop" / "undo" / "turns"
    for number, text in enumerate(("", "[]", "{}", '{"version": 2}', '{"version":1,"state":"x"}')):
        (turns / f"{number}.json").write_text(text)
    assert list(states(plan(store))) == ["ignored"]


def test_a_damaged_content_is_not_put_back(stage: ToolStage, store: UndoStore) -> None:
    fill(stage.cwd)
    turn(stage, store, shell("rm ignored"))
    (kept,) = (
        path
        for path in (stage.home / "desktop/undo/contents").glob("*/*")
        if path.read_bytes() == b"not tracked"
    )
    kept.write_bytes(b"something")
    done = put_back(store, plan(store))
    assert [why for _, why in done.failed] == ["the kept content is damaged"]
    assert not (stage.cwd / "ignored").exists()
