"""``search_files``: by name, or by content."""

import contextlib
import fnmatch
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Grant, Level
from hermes_desktop.agent.sandbox.own_places import is_grantable
from hermes_desktop.agent.sandbox.sandbox import Plan
from hermes_desktop.agent.sandbox.toolchains import system_folders
from hermes_desktop.agent.tools.base import Answer, Arguments, Tool, ToolContext, ToolError
from hermes_desktop.agent.tools.danger.danger_paths import Places, holds_secrets, is_forbidden
from hermes_desktop.agent.tools.files.file_access import FilePlace, for_reading
from hermes_desktop.core.processes.child_process import run_bounded

MOST_LOOKED_AT = 200_000
_DESCRIPTORS = Path("/proc/self/fd")
_SECONDS = 30.0
_LONGEST = 300
_FOUND = re.compile(r"(?P<path>[^\0]++)\0(?P<line>[^\n]*)\n?")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".mypy_cache"})


def _search(arguments: Arguments, context: ToolContext) -> Answer:
    place = for_reading(arguments.get("path", "."), context)
    if not place.path.exists():
        raise ToolError("There is no such folder.")
    if not place.path.is_dir() and not place.path.is_file():
        raise ToolError("It is neither a folder nor a regular file.")
    limit = arguments.get("limit", 50)
    by_name = arguments.get("target", "content") == "files"
    if by_name:
        with _held(place) as start:
            shown = list(islice(_names(start, place, arguments["pattern"], context), limit + 1))
    else:
        shown = list(islice(_lines(place, arguments, context), limit + 1))
    return {"matches": shown[:limit], "more": True} if len(shown) > limit else {"matches": shown}


@contextlib.contextmanager
def _held(place: FilePlace) -> Iterator[str]:
    """Give a path to the folder that was assessed, which stays the same one during the search.

    Elsewhere than on Linux, and for a single file, that is its own path.
    """
    if not _DESCRIPTORS.is_dir() or not place.path.is_dir():
        yield str(place.path)
        return
    with place.opened() as folder:
        descriptor = folder.open(place.inside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/{os.getpid()}/fd/{descriptor}/"
    finally:
        os.close(descriptor)


def _shown(found: str, start: str, place: FilePlace) -> str:
    """Return the path of a hit, relative to the requested folder's own path."""
    return str(place.path / found[len(start) :].lstrip("/")) if found != start else str(place.path)


def _places(context: ToolContext) -> Places:
    setup = context.setup
    return Places(setup.cwd, setup.user_home, setup.home)


def _names(start: str, place: FilePlace, pattern: str, context: ToolContext) -> Iterator[str]:
    looked = 0
    for parent, folders, files in os.walk(start):
        folders[:] = sorted(each for each in folders if each not in _SKIPPED)
        for name in sorted(files):
            looked += 1
            if context.cancel.is_set() or looked > MOST_LOOKED_AT:
                return
            if fnmatch.fnmatchcase(name, pattern):
                yield _shown(os.path.join(parent, name), start, place)  # noqa: PTH118 - "/" stays


def _plan(place: FilePlace, context: ToolContext) -> Plan:
    """Return the sandbox plan of the search program: it may read the folder, and change nothing.

    Raises:
        ToolError: The sandbox cannot be opened to so much.
    """
    sandbox = context.setup.sandbox
    plan = sandbox.plan(context.session_id, context.setup.cwd)
    if plan.hold.level is Level.NONE:
        return plan
    grant = plan.grant
    readable = (grant.folder, *grant.read, *grant.write, *system_folders())
    if any(each.resolve() in (place.path, *place.path.parents) for each in readable):
        more: frozenset[Path] = frozenset()
    elif is_grantable(place.path, sandbox.homes):
        more = frozenset({place.path})
    else:
        raise ToolError("The sandbox is never opened to that as a whole. Name a folder inside.")
    return replace(plan, grant=Grant(grant.folder, read=grant.read | grant.write | more))


def _lines(place: FilePlace, arguments: Arguments, context: ToolContext) -> Iterator[str]:
    """Yield matching lines. A child process searches: a bad pattern would block this one."""
    program = shutil.which("grep", path=context.setup.environ.get("PATH"))
    if program is None:
        raise ToolError("Searching in files needs the program grep.")
    command = [
        program,
        "-rnHIE",
        "--null",
        "-m",
        "100",
        *(f"--exclude-dir={each}" for each in _SKIPPED),
    ]
    if arguments.get("file_glob"):
        command.append(f"--include={arguments['file_glob']}")
    plan = _plan(place, context)
    is_held = plan.hold.level is not Level.NONE
    with nullcontext(str(place.path)) if is_held else _held(place) as start:
        command += ["-e", arguments["pattern"], "--", start]
        with plan.open(command, context.setup.environ) as launched:
            ended = run_bounded(
                launched.argv,
                environ=launched.environ,
                cwd=launched.cwd,
                timeout_s=_SECONDS,
                most_bytes=2_000_000,
                given_up=context.cancel.is_set,
                descriptors=launched.descriptors,
            )
    if ended.timed_out and not ended.out:
        raise ToolError(f"Nothing was found within {_SECONDS:g} s. Search in a smaller folder.")
    if ended.code not in (0, 1) and not ended.out:
        raise ToolError(ended.err.decode("utf-8", "replace").strip()[:300] or "The search failed.")
    places = _places(context)
    # A NUL ends each path: it may contain colons and line ends, which must not hide it.
    for found in _FOUND.finditer(ended.out.decode("utf-8", "replace")):
        path = _shown(found["path"], start, place)
        if not holds_secrets(path, places) and not is_forbidden(path, places):
            # Half a secret, cut off here, would not be recognized as one.
            line = context.setup.clean(found["line"][: 4 * _LONGEST])
            yield f"{path}:{line[:_LONGEST]}"


SEARCH_FILES = Tool(
    "search_files",
    "file",
    "Search in files by an extended regular expression, or find files by name.",
    {
        "pattern": {"type": "string", "description": "Regular expression; for files a glob."},
        "target": {"type": "string", "enum": ["content", "files"], "description": "What to find."},
        "path": {
            "type": "string",
            "description": "Folder or file; the working folder if left out.",
        },
        "file_glob": {"type": "string", "description": "Only in files of such names (*.py)."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 500,
            "description": "50 if left out.",
        },
    },
    _search,
    required=("pattern",),
    parallel=True,
    subject="pattern",
)
