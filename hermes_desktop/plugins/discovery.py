"""Discovery of the plugins of a home: folders, and packages installed with this program.

Modules that a plugin needs and that are missing are detected without running it.
"""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.plugins.contents import Contents, UnreadableError, read_contents

FOREIGN = frozenset(
    {
        *("acp_adapter", "agent", "batch_runner", "gateway", "hermes_bootstrap", "hermes_cli"),
        *("hermes_constants", "hermes_logging", "hermes_state", "hermes_time", "mcp_serve"),
        *("model_tools", "run_agent", "tools", "toolset_distributions", "toolsets"),
        *("trajectory_compressor", "tui_gateway"),
    }
)
"""Modules of the ``hermes`` program: they belong to its process, even where they can be found."""

_FORGIVING_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


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
            return MissingModules(broken=f"{file} is not Python code that runs here: {words}.")
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
        or not _FORGIVING_ERRORS.isdisjoint(
            each.id for each in ast.walk(handler.type) if isinstance(each, ast.Name)
        )
        for handler in node.handlers
    )


GROUP = "hermes_desktop.plugins"
MANIFESTS = ("plugin.yaml", "plugin.yml")
HOOK_MANIFESTS = ("HOOK.yaml", "HOOK.yml")
_MOST_READ = 5000
_MOST_HOOKS = 200

Kind = Literal["plugin", "package", "hook"]
ReadYaml = Callable[[Path], Mapping[str, Any]]
"""Parses a settings file; raises :class:`ConfigError`."""


Wanted = Callable[[str], bool]
"""Returns whether the plugin or hook of a key should be read."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin or event hook as found on disk; none of its code has run.

    Attributes:
        kind: A folder, an installed package, or a folder with an event hook.
        key: Its unique identifier.
        path: Its path.
        hooks: The hooks that its manifest declares.
        needs: Modules that are missing.
        problem: Why it cannot be used; "" if it can.
        entry_point: ``module:name`` of a package.
    """

    kind: Kind
    key: str
    name: str
    path: Path
    version: str = ""
    description: str = ""
    author: str = ""
    hooks: tuple[str, ...] = ()
    contents: Contents = field(default_factory=Contents)
    needs: MissingModules = field(default_factory=MissingModules)
    problem: str = ""
    entry_point: str = ""


def find_plugins(
    folder: Path, read_yaml: ReadYaml, wanted: Wanted = lambda _key: True
) -> Iterator[Found]:
    """Yield the plugins in the folder ``plugins`` whose keys are wanted. Blocking."""
    for each in _folders(folder):
        if wanted(each.name):
            yield _look(each, "plugin", each.name, MANIFESTS, "__init__.py", read_yaml)


def find_event_hooks(
    folder: Path, read_yaml: ReadYaml, wanted: Wanted = lambda _key: True
) -> Iterator[Found]:
    """Yield the event hooks in the folder ``hooks`` whose keys are wanted. Blocking."""
    for each in _folders(folder):
        key = f"hook:{each.name}"
        if wanted(key):
            yield _look(each, "hook", key, HOOK_MANIFESTS, "handler.py", read_yaml)


def _folders(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [each for each in inside if _may_be_named(each.name) and each.is_dir()]


def _may_be_named(name: str) -> bool:
    """Return whether a name is allowed: not hidden, without a colon as in other keys, printable."""
    return not name.startswith((".", "_")) and ":" not in name and name.isprintable()


def _look(
    folder: Path,
    kind: Kind,
    key: str,
    manifests: tuple[str, ...],
    first: str,
    read_yaml: ReadYaml,
) -> Found:
    path = folder.resolve()
    found = Found(kind, key, folder.name, path)
    try:
        contents = read_contents(path)
    except UnreadableError as error:
        return replace(found, problem=str(error))
    found = replace(found, contents=contents)
    manifest = next((each for each in manifests if each in contents.files), None)
    absent = manifests[0] if manifest is None else first if first not in contents.files else ""
    if manifest is None or absent:
        return replace(found, problem=f"It has no {absent}.")
    try:
        said = read_yaml(path / manifest)
    except ConfigError as error:
        return replace(found, problem=str(error))
    found = replace(
        found,
        version=_text(said.get("version")),
        description=_text(said.get("description")),
        author=_text(said.get("author")),
        hooks=_words(said.get("events" if kind == "hook" else "provides_hooks", said.get("hooks"))),
    )
    needs = missing_modules(contents.sources, first)
    problem = needs.broken
    if needs.missing:
        problem = f"It needs {', '.join(needs.missing)}, which is not part of this program."
    elif kind == "hook" and not found.hooks:
        problem = f"{manifest} names no events."
    return replace(found, needs=needs, problem=problem)


def find_packages(wanted: Wanted = lambda _key: True) -> Iterator[Found]:
    """Yield the installed packages that offer plugins. Blocking; imports none of them."""
    from importlib import metadata  # noqa: PLC0415 - only homes with plugins look

    points = metadata.entry_points(group=GROUP)
    for point in sorted(points, key=lambda each: each.name):
        if not wanted(f"package:{point.name}"):
            continue
        path, contents, problem = _package_contents(point.module.partition(".")[0])
        yield Found(
            "package",
            f"package:{point.name}",
            point.name,
            path,
            version=point.dist.version if point.dist is not None else "",
            description=_text(point.dist.metadata["Summary"] if point.dist is not None else ""),
            contents=contents,
            problem=problem,
            entry_point=point.value,
        )


def _package_contents(top: str) -> tuple[Path, Contents, str]:
    if not is_there(top):
        return Path(top), Contents(), f"Its module {top} does not exist."
    spec = importlib.util.find_spec(top)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    origin = spec.origin if spec is not None else None
    try:
        if places:
            return Path(places[0]), read_contents(Path(places[0])), ""
        if origin is not None and Path(origin).is_file():
            return Path(origin), _single(Path(origin)), ""
    except UnreadableError as error:
        return Path(places[0] if places else top), Contents(), str(error)
    return Path(top), Contents(), "The location of its code is unknown."


def _single(file: Path) -> Contents:
    data = file.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Contents({file.name: digest}, {file.name: len(data)}, {file.name: data}, digest)


def _text(value: object) -> str:
    """Return a scalar as text; collections yield "", as their references may make them endless."""
    if isinstance(value, str):
        return " ".join(value[:_MOST_READ].split())[:500]
    return str(value) if isinstance(value, bool | float | date) or _is_short(value) else ""


def _is_short(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 10**18


def _words(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else [value] if value else []
    return tuple(words for each in items[:_MOST_HOOKS] if (words := _text(each)))
