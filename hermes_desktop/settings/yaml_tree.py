"""The text of a YAML file as a tree of nodes with their positions in the text.

Built from the parser's events, so that anchors, aliases and tags are visible as written. The parser
written in Python is used, because its marks count the characters of the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

from hermes_desktop.settings.config_file import parse_config, settings_text

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line breaks of the parser, which are more than those of an editor."""

_QUICK: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Node:
    """One value, with its position in the text.

    Attributes:
        start: Its first character, or that of its anchor or tag.
        end: Position after its last character: of a block, after its last value.
        anchor: Whether it has a name to which others may refer.
        alias: Whether it is such a reference.
        flow: Whether it is written in brackets or braces.
        text: The text of a single value.
        style: The quotation mark of a single value, ``|`` or ``>``, else None.
        pairs: Keys and values of a mapping.
        items: Values of a list.
    """

    kind: Literal["scalar", "mapping", "list"]
    start: int
    end: int
    line: int
    column: int
    anchor: bool = False
    alias: bool = False
    tag: str | None = None
    flow: bool = False
    text: str = ""
    style: str | None = None
    pairs: "list[tuple[Node, Node]]" = field(default_factory=list)
    items: "list[Node]" = field(default_factory=list)

    @property
    def is_null(self) -> bool:
        """Whether the value is null, in any of its notations."""
        return self.kind == "scalar" and (
            self.style is None
            and self.tag is None
            and not self.alias
            and self.text in {"", "~", "null", "Null", "NULL"}
        )

    def pairs_with_key(self, key: str) -> "list[tuple[Node, Node]]":
        """Return the pairs with that key; more than one if it is duplicated."""
        return [pair for pair in self.pairs if _is_key(pair[0], key)]

    def walk(self) -> "Iterator[Node]":
        """Yield this value and all below it."""
        yield self
        for key, value in self.pairs:
            yield key
            yield from value.walk()
        for item in self.items:
            yield from item.walk()


def _is_key(node: Node, key: str) -> bool:
    return node.kind == "scalar" and not node.alias and node.text == key


def parse_tree(text: str, *, exact: bool = True) -> tuple[Node | None, int]:
    """Parse a whole file.

    Args:
        text: The whole text.
        exact: Determine also where values end, for changing them. Otherwise only the values and the
            lines on which they begin, several times faster with the parser in C.

    Returns:
        The value of its first document, None when there is none, and how many documents it has.

    Raises:
        yaml.YAMLError: It is not YAML.
    """
    loader = yaml.SafeLoader if exact else _QUICK
    events: Iterator[Any] = yaml.parse(text, Loader=loader)
    root: Node | None = None
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            node = _node(text, next(events), events)
            root = node if root is None else root
    return root, documents


def _node(text: str, event: Any, events: Iterator[Any]) -> Node:
    mark: Any = event.start_mark
    kind: Literal["scalar", "mapping", "list"] = "scalar"
    if isinstance(event, yaml.MappingStartEvent):
        kind = "mapping"
    elif isinstance(event, yaml.SequenceStartEvent):
        kind = "list"
    node = Node(kind, mark.index, event.end_mark.index, mark.line + 1, mark.column)
    if isinstance(event, yaml.AliasEvent):
        node.alias = True
        return node
    node.anchor, node.tag = event.anchor is not None, event.tag
    if isinstance(event, yaml.ScalarEvent):
        node.text, node.style = event.value, event.style
        node.end = _scalar_end(text, node)
        return node
    node.flow = bool(event.flow_style)
    end = _fill(text, node, events)
    if node.flow:
        node.end = end
    else:
        last = node.pairs[-1] if node.pairs else None
        node.end = max(last[0].end, last[1].end) if last else node.items[-1].end
    return node


def _fill(text: str, node: Node, events: Iterator[Any]) -> int:
    """Read the content of a collection; returns where the closing event ends."""
    while True:
        event: Any = next(events)
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            mark: Any = event.end_mark
            return int(mark.index)
        child = _node(text, event, events)
        if node.kind == "list":
            node.items.append(child)
        else:
            node.pairs.append((child, _node(text, next(events), events)))


def _scalar_end(text: str, node: Node) -> int:
    """Return the end without the empty lines after a block of text, unless they are part of it."""
    if node.style not in {"|", ">"}:
        return node.end
    header = LINE_BREAK.split(text[node.start : node.end], maxsplit=1)[0].partition("#")[0]
    if "+" in header:
        return node.end
    return node.start + len(text[node.start : node.end].rstrip(" \t\r\n\x85\u2028\u2029"))


class ConfigText:
    """The text of a settings file and what it contains, each parsed once, when it is needed.

    Args:
        text: The text, without a byte-order mark.
        path: The path of the file, for messages.
    """

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path

    @classmethod
    def of_bytes(cls, data: bytes | None, path: Path) -> "ConfigText":
        """Decode the content of a file; None: there is none. Raises :class:`ConfigError`."""
        return cls(settings_text(data or b"", path), path)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The parsed data, which must not be modified. Raises :class:`ConfigError`."""
        return parse_config(self.text, self.path)

    @cached_property
    def tree(self) -> tuple[Node | None, int]:
        """The result of :func:`parse_tree`; raises the same."""
        return parse_tree(self.text)


def line_start(text: str, place: int) -> int:
    """Return where the line of that character begins."""
    start = 0
    for match in LINE_BREAK.finditer(text, 0, place):
        start = match.end()
    return start


def line_end(text: str, place: int) -> tuple[int, int]:
    """Return where the line of that character ends, before and after its line break."""
    match = LINE_BREAK.search(text, place)
    return (len(text), len(text)) if match is None else (match.start(), match.end())


def comments_in(text: str, start: int, end: int, value: Node) -> str:
    """Return the lines of a range that contain only a comment.

    Args:
        text: The whole file.
        start: Where its first line begins.
        end: Position after its last line.
        value: The value in that range; a character inside its texts begins no comment.
    """
    words = [(each.start, each.end) for each in value.walk() if each.kind == "scalar"]
    kept, place = "", start
    while place < end:
        behind = line_end(text, place)[1]
        line = text[place:behind]
        sign = behind - len(line.lstrip(" "))
        if text.startswith("#", sign) and not any(a <= sign < b for a, b in words):
            kept += line
        place = behind
    return kept
