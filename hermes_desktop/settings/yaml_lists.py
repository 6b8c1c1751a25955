"""Edits of lists with one entry per line: entries are removed and added, other comments kept."""

import re
from collections.abc import Sequence
from typing import Any

from hermes_desktop.settings.yaml_tree import LINE_BREAK, Node, line_end, line_start
from hermes_desktop.settings.yaml_values import same, written

_DASH = re.compile(r" *- +")


def edit_list(text: str, node: Node, old: Sequence[Any], new: Sequence[Any]) -> str | None:
    """Change a list line by line.

    Args:
        text: The whole file.
        node: The list.
        old: Its present entries.
        new: Its new entries; not empty.

    Returns:
        The whole text; None where the list is not written with one entry per line.
    """
    spans = [_line_of(text, item) for item in node.items]
    if any(span is None for span in spans):
        return None
    kept = 0
    gone: list[tuple[int, int]] = []
    for value, span in zip(old, spans, strict=True):
        if kept < len(new) and same(value, new[kept]):
            kept += 1
        elif span is not None:
            gone.append(span)
    last = spans[-1]
    if last is None:
        return None
    ending = "\r\n" if "\r\n" in text[: last[1]] else "\n"
    added = "".join(f"{' ' * node.column}- {written(each)}{ending}" for each in new[kept:])
    gap = "" if not added or LINE_BREAK.search(text[last[1] - 1]) else ending
    text = text[: last[1]] + gap + added + text[last[1] :]
    for start, end in reversed(gone):
        text = text[:start] + text[end:]
    return text


def _line_of(text: str, item: Node) -> tuple[int, int] | None:
    """Return the line of an entry with nothing else on it but a comment."""
    start, (end, behind) = line_start(text, item.start), line_end(text, item.end)
    one_line = item.kind == "scalar" and LINE_BREAK.search(text, start, item.end) is None
    if not one_line or _DASH.fullmatch(text, start, item.start) is None:
        return None
    rest = text[item.end : end].strip()
    return (start, behind) if not rest or rest.startswith("#") else None
