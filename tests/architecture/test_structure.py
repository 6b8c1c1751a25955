"""What import-linter cannot say: sizes, names, forbidden calls, what a list may load.

The layers themselves stand in pyproject.toml and are checked by ``lint-imports``.
"""

import ast
import functools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "hermes_desktop"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((CHECKOUT / "tests").rglob("*.py"))
MOST_LINES_OF_A_FILE = 800
MOST_MODULES_OF_A_FOLDER = 26
"""With its ``__init__``."""
MOST_LINES_OF_A_FUNCTION = 50
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
HEAVY = {"asyncio", "httpx", "keyring", "PySide6", "qasync", "rich", "yaml"}


def relative(file: Path) -> str:
    return file.relative_to(CHECKOUT).as_posix()


@functools.cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of code: neither the docstring nor imports that wait for the builder they serve."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    skipped = [each for each in function.body if isinstance(each, ast.Import | ast.ImportFrom)]
    if ast.get_docstring(function, clean=False) is not None:
        skipped.append(function.body[0])
    return lines - sum((each.end_lineno or 0) - each.lineno + 1 for each in skipped)


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module named in an import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The dotted name of every call, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


# ------------------------------------------------------------------------------- sizes and names


def test_files_and_functions_stay_small() -> None:
    files = {
        relative(file): size
        for file in SOURCES
        if (size := len(file.read_text(encoding="utf-8").splitlines())) > MOST_LINES_OF_A_FILE
    }
    functions_of = {
        f"{relative(file)}: {node.name}": size
        for file in SOURCES
        for node in functions(tree_of(file))
        if (size := lines_of(node)) > MOST_LINES_OF_A_FUNCTION
    }

    assert not files | functions_of


def test_folders_stay_small() -> None:
    count = Counter(relative(file.parent) for file in SOURCES)

    assert not {folder: size for folder, size in count.items() if size > MOST_MODULES_OF_A_FOLDER}


def test_names_say_what_is_inside() -> None:
    empty = [
        relative(file)
        for file in [*SOURCES, *TESTS]
        if EMPTY_NAMES & {file.stem, file.parent.name}
        or file.stem.rpartition("_")[2] in EMPTY_NAMES
    ]

    assert not empty


def test_every_package_says_what_it_is_for() -> None:
    silent = [relative(file) for file in SOURCES if ast.get_docstring(tree_of(file)) is None]

    assert not silent


# -------------------------------------------------------------------------------- forbidden calls


def test_no_mocks() -> None:
    found = [
        f"{relative(file)}: {name}"
        for file in TESTS
        for name in imported(tree_of(file))
        if name.startswith(("unittest.mock", "mock"))
    ]

    assert not found


def test_nobody_sleeps_but_the_waiting_for_a_locked_database() -> None:
    sleeping = [
        f"{relative(file)}:{line}"
        for file in SOURCES
        if file != PACKAGE / "state" / "database" / "connection.py"
        for name, line in called(tree_of(file))
        if name == "time.sleep"
    ]

    assert not sleeping


def test_only_the_state_layer_speaks_sql() -> None:
    """A word of SQL in a string outside ``state`` means that a query stands in the wrong layer."""
    begins = ("SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "PRAGMA ", "CREATE TABLE ")
    speaking = [
        f"{relative(file)}:{node.lineno}"
        for file in SOURCES
        if not file.is_relative_to(PACKAGE / "state")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.lstrip().startswith(begins)
    ]

    assert not speaking


# Whoever starts programs outside the sandbox, and why that is right.
STARTED_OUTSIDE = {
    "agent/sandbox/landlock_start.py": "becomes the command, after it has restricted itself",
    "agent/sandbox/proxy_start.py": "becomes the command, inside the sandbox",
    "commands/quick_commands.py": "the user's own commands; nothing of a model reaches them",
    "core/processes/child_process.py": "what its callers give to it",
    "core/processes/restart.py": "this program itself",
    "gateway/identity/identity_process.py": "this program itself",
    "gateway/identity/polite_stop.py": "the user's own hermes",
    "services/diagnosis/diagnostics.py": "the doctor of this program",
    "plugins/shell_hooks.py": "the user's own hooks, approved with their content",
}
_STARTS = re.compile(
    r"(subprocess\.(?!list2cmdline)\w+|run_bounded|os\.(exec\w+|spawn\w+|posix_spawnp?|system|popen|fork\w*|startfile)"
    r"|pty\.(spawn|fork)|(asyncio\.)?create_subprocess_\w+|loop\.subprocess_\w+|QProcess(\.\w+)?"
    r"|multiprocessing\.\w+|(concurrent\.futures\.)?ProcessPoolExecutor)"
)


def starting(file: Path) -> Iterator[ast.Call]:
    """Every call in a file that starts a program."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Call) and _STARTS.fullmatch(ast.unparse(node.func)):
            yield node


def test_what_the_assistant_starts_is_prepared_by_the_sandbox() -> None:
    """A program starts with the words of a ``Launch``; every exception has its reason."""
    found = {
        file.relative_to(PACKAGE).as_posix()
        for file in SOURCES
        for node in starting(file)
        if not (node.args and ast.unparse(node.args[0]) in {"launched.argv", "started.argv"})
    }

    assert found - STARTED_OUTSIDE.keys() == set()
    # By the module's name, so that the search above finds it.
    assert not [
        relative(file)
        for file in SOURCES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ImportFrom)
        and node.module in {"subprocess", "multiprocessing", "pty"}
    ]


def test_no_exception_outlives_its_reason() -> None:
    starters = {file.relative_to(PACKAGE).as_posix() for file in SOURCES if list(starting(file))}

    assert STARTED_OUTSIDE.keys() - starters == set()


def test_the_process_environment_is_not_written() -> None:
    """Two turns run side by side. Only what Qt itself reads there may be told to it that way."""
    for_qt = {PACKAGE / "app.py", PACKAGE / "ui" / "start" / "desktop_program.py"}
    writing = [
        f"{relative(file)}:{node.lineno}"
        for file in SOURCES
        if file not in for_qt
        for node in ast.walk(tree_of(file))
        if _writes_environment(node)
    ]

    assert not writing


def _writes_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        return any(
            isinstance(target, ast.Subscript) and ast.unparse(target.value) == "os.environ"
            for target in targets
        )
    names = {f"os.environ.{each}" for each in ("update", "setdefault", "pop", "clear")}
    writers = names | {"os.putenv", "os.unsetenv"}
    return isinstance(node, ast.Call) and ast.unparse(node.func) in writers


# ----------------------------------------------------------------------------- what a start loads


def loaded(code: str, home: Path) -> set[str]:
    """The top-level modules that are loaded after this code ran in a fresh interpreter."""
    report = "import json, sys; json.dump(sorted(sys.modules), sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True,
        check=True,
        cwd=CHECKOUT,
        env={**os.environ, "HERMES_HOME": str(home)},
        timeout=60,
    )
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one session."""
    database = SessionDB(tmp_path / "state.db")
    database.create_session("s1", "cli")
    database.append_message("s1", "user", "Hello")
    database.close()
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["sessions", "list"],
        ["sessions", "list", "--json"],
        ["sessions", "show", "s1"],
        ["--version"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_looking_at_sessions_loads_little(home: Path, arguments: list[str]) -> None:
    modules = loaded(
        f"from hermes_desktop.cli.main import main; assert main({arguments!r}) == 0", home
    )

    assert "hermes_desktop" in modules
    assert not modules & HEAVY


def test_the_program_can_be_imported_without_qt(home: Path) -> None:
    assert not loaded("import hermes_desktop.app", home) & {"PySide6", "httpx", "asyncio"}


def test_the_services_know_no_qt(home: Path) -> None:
    names = [
        relative(file).removesuffix(".py").replace("/", ".")
        for file in SOURCES
        if file.is_relative_to(PACKAGE / "services") and file.stem != "__init__"
    ]

    assert not loaded("\n".join(f"import {name}" for name in names), home) & {"PySide6", "qasync"}
