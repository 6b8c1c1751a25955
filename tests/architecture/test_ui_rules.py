"""Rules of the window that a review would miss: each was broken once, somewhere, and cost a day."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "hermes_desktop"
SOURCES = sorted([*(PACKAGE / "ui").rglob("*.py"), PACKAGE / "app.py"])

FORBIDDEN = {
    "exec": "a nested loop inside a coroutine stops every other task for good; open() and await",
    "exec_": "as exec",
    "processEvents": "as exec",
    "quit": "the loop would end before the clean-up; ask_to_quit() instead",
    "instance": "the application and its parts are handed in, not fetched",
}


def _id(file: Path) -> str:
    return str(file.relative_to(PACKAGE.parent))


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", SOURCES, ids=_id)
def test_forbidden_calls(file: Path) -> None:
    found = [
        f"line {node.lineno}: {name}() – {FORBIDDEN[name]}"
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.Call) and (name := _method(node)) in FORBIDDEN
    ]
    assert not found


@pytest.mark.parametrize("file", SOURCES, ids=_id)
def test_slots_are_plain_functions(file: Path) -> None:
    """Coroutines are started by AsyncSlots, which keeps them and tells what went wrong."""
    found: list[str] = []
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list:
            names = {ast.unparse(each) for each in node.decorator_list}
            found += [f"line {node.lineno}: @{name}" for name in names if "Slot" in name]
        if isinstance(node, ast.ImportFrom) and node.module == "qasync":
            found += [alias.name for alias in node.names if "async" in alias.name.lower()]
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {
            "asyncio.create_task",
            "loop.create_task",
        }:
            found.append(f"line {node.lineno}: a task that nobody keeps")
    assert not found


@pytest.mark.parametrize("file", SOURCES, ids=_id)
def test_nobody_sleeps_on_the_main_thread(file: Path) -> None:
    found = [
        node.lineno
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep"
    ]
    assert not found


def test_importing_app_loads_no_qt() -> None:
    """Imports at the top of app.py; those inside its functions are loaded when needed."""
    top = [
        ast.unparse(node)
        for node in _tree(PACKAGE / "app.py").body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not [line for line in top if "PySide6" in line or "hermes_desktop.ui" in line]


def _method(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""
