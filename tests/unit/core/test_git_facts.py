"""Repository and branch of a folder, from the files that Git keeps."""

from pathlib import Path

import pytest

from hermes_desktop.core.files.git_facts import GitRepository, git_facts

BRANCH = "ref: refs/heads/work/trunk\n"


def repository(folder: Path, head: str | None = BRANCH) -> Path:
    (folder / ".git").mkdir(parents=True)
    if head is not None:
        (folder / ".git" / "HEAD").write_text(head, encoding="utf-8")
    return folder


def test_from_a_folder_below(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    below = root / "a" / "b"
    below.mkdir(parents=True)
    assert git_facts(below) == git_facts(root) == GitRepository(root, "work/trunk")
    assert git_facts(tmp_path) is None


@pytest.mark.parametrize(
    "head",
    [
        None,
        "",
        "0123456789abcdef\n",
        "ref: refs/heads/\n",
        "ref: refs/heads/a\x1b[31m\n",
        "ref: refs/heads/" + "x" * 300,
    ],
)
def test_no_branch_that_could_be_named(tmp_path: Path, head: str | None) -> None:
    root = repository(tmp_path / "project", head)
    assert git_facts(root) == GitRepository(root, None)


def test_a_further_worktree_has_a_branch_of_its_own(tmp_path: Path) -> None:
    kept = repository(tmp_path / "project") / ".git" / "worktrees" / "side"
    kept.mkdir(parents=True)
    (kept / "HEAD").write_text("ref: refs/heads/side\n", encoding="utf-8")
    worktree = tmp_path / "side"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {kept}\n", encoding="utf-8")
    assert git_facts(worktree) == GitRepository(worktree, "side")
    (worktree / ".git").write_text("gitdir: ../project/.git/worktrees/side\n", encoding="utf-8")
    assert git_facts(worktree) == GitRepository(worktree, "side")
    (worktree / ".git").write_text("something else", encoding="utf-8")
    assert git_facts(worktree) == GitRepository(worktree, None)
