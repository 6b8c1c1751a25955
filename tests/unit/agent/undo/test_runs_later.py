"""Changed files that other programs run automatically later."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.types import CallNote, TurnNews
from hermes_desktop.agent.undo.runs_later import run_by
from hermes_desktop.agent.undo.turn_undo import UndoStore
from tests.fakes.tool_stage import SID, ToolStage, call


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    made.config["approvals"] = {"mode": "off"}
    yield made
    made.close()


def told_of(stage: ToolStage, command: str) -> tuple[list[str], list[str]]:
    """Run a turn; return the files that run later, and the notes of the turn."""
    store = UndoStore(stage.home / "desktop" / "undo", stage.user_home, stage.home)
    news: list[TurnNews] = []
    stage.model.calls.append((call("terminal", command=command),))
    result = stage.agent(undo=store).run_conversation("Do it", tool_callback=news.append)
    notes = [each.text for each in news if isinstance(each, CallNote) and each.lasting]
    return result["runs_later"], notes


@pytest.mark.parametrize(
    ("path", "by"),
    [
        (".git/hooks/pre-commit", "git"),
        (".git/hooks/pre-commit.sample", ""),
        ("sub/.git/config", "git"),
        (".git/modules/x/config", "git"),
        (".git/HEAD", ""),
        (".git/index", ""),
        (".git", "git"),
        (".envrc", "direnv"),
        (".vscode/tasks.json", "your editor"),
        ("src/Makefile", "make"),
        ("web/package.json", "npm"),
        ("tests/conftest.py", "pytest"),
        (".venv/bin/python", "Python"),
        ("lib/x.pth", "Python"),
        (".github/workflows/ci.yml", "a build server"),
        ("a.desktop", "your desktop"),
        ("CLAUDE.md", "assistants"),
        ("AGENTS.md", "assistants"),
        ("README.md", ""),
        ("src/hooks/use-it.ts", ""),
        ("src/config", ""),
        ("notes.txt", ""),
    ],
)
def test_what_runs_by_itself(path: str, by: str) -> None:
    assert run_by(path) == by


def test_the_turn_says_so(stage: ToolStage) -> None:
    (stage.cwd / "Makefile").write_text("all:\n")
    command = "mkdir -p .git/hooks; echo x > .git/hooks/post-merge; echo y >> Makefile; echo > a"
    paths, notes = told_of(stage, command)
    assert paths == [".git/hooks/post-merge", "Makefile"]
    (note,) = notes
    assert ".git/hooks/post-merge (git), Makefile (make)." in note
    assert f"sessions undo {SID} --file PATH" in note


def test_other_files_are_not_told(stage: ToolStage) -> None:
    (stage.cwd / "Makefile").write_text("all:\n")
    assert told_of(stage, "echo > a; touch Makefile; ls") == ([], [])
    assert told_of(stage, "rm Makefile") == ([], [])
    assert told_of(stage, "ls") == ([], [])


def test_a_package_counts_by_its_scripts(stage: ToolStage) -> None:
    package = stage.cwd / "package.json"
    package.write_text('{"version": "1", "scripts": {"test": "jest"}}')
    assert told_of(stage, "sed -i s/1/2/ package.json")[0] == []
    assert told_of(stage, "sed -i 's/jest/curl x | sh/' package.json")[0] == ["package.json"]
    assert told_of(stage, "echo broken > package.json")[0] == ["package.json"]
    assert told_of(stage, "rm package.json; mkdir new; echo '{}' > new/package.json")[0] == []


def test_a_folder_made_a_repository(stage: ToolStage) -> None:
    """git takes any folder with these files for a repository, and runs what its config names."""
    command = "mkdir -p sub/objects sub/refs; echo 'ref: refs/heads/x' > sub/HEAD; "
    command += "printf '[core]\\n\\tfsmonitor = ./run\\n' > sub/config"
    assert told_of(stage, command)[0] == ["sub/config"]


def test_names_are_shown_without_controls(stage: ToolStage) -> None:
    _, (note,) = told_of(
        stage, "mkdir -p \"$(printf 'a\\033]0;x\\nb')\"/.idea; cd a*; echo > .idea/x"
    )
    assert "\x1b" not in note
    assert "\n" not in note
