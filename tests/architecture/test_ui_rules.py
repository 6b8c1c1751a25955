"""Rules of the window that a review would miss: each was broken once, somewhere, and cost a day."""

import ast
import functools
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "hermes_desktop"
SOURCES = sorted([*(PACKAGE / "ui").rglob("*.py"), PACKAGE / "app.py"])

FORBIDDEN = {
    "exec": "a nested loop inside a coroutine stops every other task for good; open() and await",
    "exec_": "as exec",
    "processEvents": "as exec",
    "quit": "the loop would end before the clean-up; ask_to_quit() instead",
    "instance": "the application and its parts are handed in, not fetched",
}


def _place(file: Path, node: ast.stmt | ast.expr) -> str:
    return f"{file.relative_to(PACKAGE.parent)}:{node.lineno}"


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_forbidden_calls() -> None:
    found = [
        f"{_place(file, node)}: {name}() – {FORBIDDEN[name]}"
        for file in SOURCES
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.Call) and (name := _method(node)) in FORBIDDEN
    ]
    assert not found


def test_slots_are_plain_functions() -> None:
    """Coroutines are started by AsyncSlots, which keeps them and reports what went wrong."""
    found: list[str] = []
    for file in SOURCES:
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list:
                names = {ast.unparse(each) for each in node.decorator_list}
                found += [f"{_place(file, node)}: @{name}" for name in names if "Slot" in name]
            if isinstance(node, ast.ImportFrom) and node.module == "qasync":
                names = {alias.name for alias in node.names}
                found += [_place(file, node) for name in names if "async" in name.lower()]
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {
                "asyncio.create_task",
                "loop.create_task",
            }:
                found.append(f"{_place(file, node)}: nothing keeps this task")
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
