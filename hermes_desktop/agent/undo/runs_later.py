"""Detection of changed files that other programs later run, or obey, automatically."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.undo.folder_scan import Entry

_RUN_BY: Mapping[str, tuple[str, ...]] = {
    "git": (
        r"\.git/(config(\.worktree)?|hooks/(?!.*\.sample$).*|info/attributes)",
        r"\.git/(modules|worktrees)/.*config(\.worktree)?",
        r"\.git|\.gitmodules|\.gitattributes|\.githooks/.*|\.husky/.*",
        r"\.pre-commit-config\.ya?ml|lefthook\.ya?ml",
    ),
    "direnv": (r"\.envrc|\.?mise\.toml",),
    "your editor": (
        r"\.vscode/.*\.json|.*\.code-workspace|\.idea/.*|\.zed/.*|\.devcontainer(\.json|/.*)",
        r"\.exrc|\.nvimrc|\.vimrc|\.nvim\.lua|\.dir-locals\.el",
    ),
    "make": (r"(GNU)?[Mm]akefile|.*\.mk|CMakeLists\.txt|[Jj]ustfile|Taskfile\.ya?ml|build\.ninja",),
    "npm": (r"package\.json|\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.cjs",),
    "pytest": (r"conftest\.py|pytest\.ini|tox\.ini|noxfile\.py",),
    "Python": (
        r"sitecustomize\.py|usercustomize\.py|.*\.pth|setup\.py|pyvenv\.cfg|\.?venv/bin/.*",
    ),
    "cargo": (r"build\.rs|\.cargo/config(\.toml)?",),
    "Gradle": (r"gradlew|.*\.gradle(\.kts)?",),
    "a build server": (r"\.github/(workflows|actions)/.*|\.gitlab-ci\.ya?ml|Jenkinsfile",),
    "your desktop": (r".*\.(desktop|service|timer)|autorun\.inf",),
    "your shell": (r"\.(bash|zsh)(rc|env|_profile|_login|_logout|_aliases)|\.profile|\.zprofile",),
    "assistants": (
        r"(AGENTS(\.override)?|CLAUDE(\.local)?|GEMINI|HERMES|\.hermes|SOUL)\.md",
        r"\.cursorrules|\.mcp\.json|\.(cursor|claude|codex)/.*|\.github/copilot-instructions\.md",
    ),
}
_PATTERNS = tuple(
    (by, re.compile(f"(.*/)?({'|'.join(patterns)})", re.DOTALL)) for by, patterns in _RUN_BY.items()
)
_GIT_SECTION = re.compile(
    r"^\s*\[(core|alias|filter|diff|merge|include)", re.IGNORECASE | re.MULTILINE
)
_MOST_NAMED, _MOST_CHARACTERS = 10, 80
_RUN_BY_NPM = ("scripts", "bin", "husky", "lint-staged", "simple-git-hooks")


@dataclass(frozen=True, slots=True)
class RunsLater:
    """A changed file that another program runs automatically later.

    Attributes:
        path: Relative to the folder.
        by: What runs or obeys it, for the user.
    """

    path: str
    by: str


def runs_later(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry | None],
    text_before: Callable[[Entry], str],
    text_now: Callable[[str], str],
) -> tuple[RunsLater, ...]:
    """Return the new or changed files that other programs run automatically later.

    Args:
        before: The changed files as they were.
        after: As they are; None: gone.
        text_before: Returns the text of an earlier file. May raise ``OSError`` or ``ValueError``.
        text_now: Returns the text of a present file. Likewise.
    """
    found: list[RunsLater] = []
    for path in sorted(after):
        entry = after[path]
        if entry is None or entry.kind == "folder":
            continue
        by, name = run_by(path), path.rpartition("/")[2]
        try:
            if name == "package.json":
                old = text_before(before[path]) if path in before else "{}"
                by = by if _npm_runs(old) != _npm_runs(text_now(path)) else ""
            elif name == "config" and not by and _GIT_SECTION.search(text_now(path)):
                by = "git"  # any folder can be made a bare repository
        except (OSError, ValueError):
            pass  # a package.json is shown, as its scripts are not known
        if by:
            found.append(RunsLater(path, by))
    return tuple(found)


def runs_later_note(found: Sequence[RunsLater], session_id: str) -> str:
    """Return the note for the user about such files."""
    named = [f"{_shown(each.path)} ({each.by})" for each in found[:_MOST_NAMED]]
    more = len(found) - len(named)
    listed = ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
    return (
        f"This turn changed files that run automatically later: {listed}. Review them. To revert "
        f"one: `hermes-desktop sessions undo {session_id} --file PATH`"
    )


def _shown(path: str) -> str:
    """Return a name that the assistant may have chosen, without invisible characters."""
    text = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in path)
    return text if len(text) <= _MOST_CHARACTERS else f"…{text[-_MOST_CHARACTERS:]}"


def run_by(path: str) -> str:
    """Return what runs a file automatically, "" for none.

    Args:
        path: Relative to the working folder.
    """
    return next((by for by, pattern in _PATTERNS if pattern.fullmatch(path)), "")


def _npm_runs(text: str) -> Any:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("no package.json")  # noqa: TRY004 - as json.loads does
    return [values.get(name) for name in _RUN_BY_NPM]
