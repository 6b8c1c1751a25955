"""``read_file``, ``write_file`` and ``patch``."""

from hermes_desktop.agent.tools.base import Answer, Arguments, Tool, ToolContext, ToolError
from hermes_desktop.agent.tools.files.file_access import (
    for_reading,
    for_writing,
    read_text,
    refuse_marks,
    require_unchanged,
    stamp_of,
)

MOST_LINES = 2000
MOST_LINE = 2000
MOST_SHOWN = 50_000
MOST_WRITTEN = 5_000_000


def _read(arguments: Arguments, context: ToolContext) -> Answer:
    shown = arguments["path"]
    lines = read_text(for_reading(shown, context)).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first = arguments.get("offset", 1)
    wanted = lines[first - 1 : first - 1 + arguments.get("limit", 500)]
    out: list[str] = []
    size = 0
    for number, line in enumerate(wanted, first):
        if len(line) > MOST_LINE:  # half a secret would not be recognized as one
            line = context.setup.clean(line[: 2 * MOST_LINE])[:MOST_LINE]  # noqa: PLW2901
        text = f"{number}|{line}"
        size += len(text) + 1
        if size > MOST_SHOWN:
            break
        out.append(text)
    last = first + len(out) - 1
    more = {"next_offset": last + 1} if last < len(lines) else {}
    return {"content": "\n".join(out), "total_lines": len(lines), **more}


def _write(arguments: Arguments, context: ToolContext) -> Answer:
    shown, content = arguments["path"], arguments["content"]
    if len(content) > MOST_WRITTEN:
        raise ToolError(f"That is too long ({len(content)} characters).")
    place = for_writing(shown, context, content)
    old = read_text(place, missing="")
    refuse_marks(old, content)
    context.before_write(place.path)
    place.write(content)
    return {"written": str(place.path), "bytes": len(content.encode("utf-8", "replace"))}


def _patch(arguments: Arguments, context: ToolContext) -> Answer:
    shown, old, new = arguments["path"], arguments["old_string"], arguments["new_string"]
    if not old or old == new:
        raise ToolError("old_string must not be empty, nor the same as new_string.")
    place = for_writing(shown, context, f"- {old}\n+ {new}")
    # Permission to write a file does not include permission to read secrets in it; the answer
    # contains how often the text was found, and nothing else.
    seen = stamp_of(place.path)
    text = read_text(place, exactly=True)
    if text.count("\r\n") == text.count("\n") > 0:  # the model was shown lines without CR
        old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
    count = text.count(old)
    if not count:
        raise ToolError(f"old_string does not occur in {shown}. Read it again.")
    if count > 1 and not arguments.get("replace_all"):
        raise ToolError(f"old_string occurs {count} times; give more of it, or set replace_all.")
    changed = text.replace(old, new)
    if len(changed) > MOST_WRITTEN:
        raise ToolError("The file would become too long.")
    refuse_marks(text, changed)
    context.before_write(place.path)
    place.write(changed, lambda: require_unchanged(place.path, shown, seen))
    return {"written": str(place.path), "replaced": count}


_PATH = {"type": "string", "description": "Path, absolute or from the working folder."}

READ_FILE = Tool(
    "read_file",
    "file",
    "Read a text file. Lines come as NUMBER|TEXT.",
    {
        "path": _PATH,
        "offset": {"type": "integer", "minimum": 1, "description": "First line; 1 by default."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_LINES,
            "description": "How many lines; 500 by default.",
        },
    },
    _read,
    required=("path",),
    parallel=True,
    subject="path",
)
WRITE_FILE = Tool(
    "write_file",
    "file",
    "Write a whole text file; replaces an existing one. Folders are created as needed.",
    {"path": _PATH, "content": {"type": "string", "description": "Its complete new text."}},
    _write,
    required=("path", "content"),
    subject="path",
)
PATCH = Tool(
    "patch",
    "file",
    "Replace one piece of text in a file by another.",
    {
        "path": _PATH,
        "old_string": {"type": "string", "description": "Exact text, found only once."},
        "new_string": {"type": "string", "description": "The text that replaces it."},
        "replace_all": {"type": "boolean", "description": "Replace it wherever it occurs."},
    },
    _patch,
    required=("path", "old_string", "new_string"),
    subject="path",
)
