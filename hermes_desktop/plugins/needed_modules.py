"""Static detection of modules that a plugin needs and that are missing, without running it."""

import ast
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

FOREIGN = frozenset(
    {
        *("acp_adapter", "agent", "batch_runner", "gateway", "hermes_bootstrap", "hermes_cli"),
        *("hermes_constants", "hermes_logging", "hermes_state", "hermes_time", "mcp_serve"),
        *("model_tools", "run_agent", "tools", "toolset_distributions", "toolsets"),
        *("trajectory_compressor", "tui_gateway"),
    }
)
"""Modules of the ``hermes`` program: they belong to its process, even where they can be found."""

_FORGIVING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@dataclass(frozen=True, slots=True)
class MissingModules:
    """Modules that are missing.

    Attributes:
        missing: Modules without which it cannot start.
        later: Modules that parts of it need when they are used.
        broken: Why its code cannot be parsed; "" if it can.
    """

    missing: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    broken: str = ""


@dataclass(frozen=True, slots=True)
class _Import:
    """An import statement; ``at_once`` if it runs when the module is imported."""

    name: str
    level: int
    members: tuple[str, ...]
    at_once: bool


def missing_modules(sources: Mapping[str, bytes], first: str = "__init__.py") -> MissingModules:
    """Analyze a plugin from its first file, following imports of its own modules.

    Args:
        sources: Its Python files by path inside its folder.
        first: The file that is imported first.
    """
    missing: set[str] = set()
    later: set[str] = set()
    waiting, seen = [(first, True)], set[str]()
    while waiting:
        file, at_once = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            imports = list(_imports(ast.parse(sources[file], file).body, at_once=True))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            # The last two: an expression nested deeper than any human writes.
            words = str(error) or type(error).__name__
            return MissingModules(broken=f"{file} is no Python that runs here: {words}.")
        for each in imports:
            needed = at_once and each.at_once
            if each.level:
                inside, absent = _own_files(each, file, sources)
                waiting.extend((name, needed) for name in inside)
            else:
                top = each.name.partition(".")[0]
                absent = [] if is_there(top) else [top]
            (missing if needed else later).update(absent)
    return MissingModules(tuple(sorted(missing)), tuple(sorted(later - missing)))


def is_there(module: str) -> bool:
    """Return whether a top-level module can be imported and does not belong to ``hermes``."""
    if module in FOREIGN:
        return False
    if module in sys.modules:  # also modules without a spec
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _own_files(
    each: _Import, file: str, sources: Mapping[str, bytes]
) -> tuple[list[str], list[str]]:
    """Return the files that a relative import refers to, and the names that do not exist."""
    package = file.split("/")[:-1]
    climbs = each.level - 1
    if climbs > len(package):
        return [], ["." * each.level + each.name]
    base = [*package[: len(package) - climbs], *(each.name.split(".") if each.name else [])]
    found = [name for name in _candidates(base) if name in sources]
    if not found and each.name:
        return [], ["." * each.level + each.name]
    members = [name for member in each.members for name in _candidates([*base, member])]
    return [*found, *(name for name in members if name in sources)], []


def _candidates(parts: list[str]) -> tuple[str, ...]:
    path = "/".join(parts)
    return ("__init__.py",) if not path else (f"{path}.py", f"{path}/__init__.py")


def _imports(body: "list[ast.stmt]", *, at_once: bool) -> Iterator[_Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _Import(alias.name, 0, (), at_once)
        elif isinstance(node, ast.ImportFrom):
            members = tuple(alias.name for alias in node.names)
            yield _Import(node.module or "", node.level, members, at_once)
        elif isinstance(node, ast.Try) and _is_forgiving(node):
            rest = [*node.orelse, *node.finalbody, *(s for h in node.handlers for s in h.body)]
            yield from _imports(rest, at_once=False)
        elif isinstance(node, ast.ClassDef | ast.Try):
            yield from _imports(_bodies(node), at_once=at_once)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imports(node.orelse, at_once=at_once)
        else:  # functions, and statements that run conditionally
            yield from _imports(_bodies(node), at_once=False)


def _bodies(node: ast.AST) -> "list[ast.stmt]":
    """Return all statements directly inside a statement."""
    inside: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            inside.append(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            inside.extend(child.body)
    return inside


def _is_forgiving(node: ast.Try) -> bool:
    """Return whether a failing import inside is expected."""
    return any(
        handler.type is None
        or not _FORGIVING.isdisjoint(
            each.id for each in ast.walk(handler.type) if isinstance(each, ast.Name)
        )
        for handler in node.handlers
    )
