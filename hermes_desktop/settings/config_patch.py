"""Changes of single values in the text of a YAML file; every other character is preserved.

The file is never rewritten from parsed data. A change replaces the characters of one value, or adds
or removes whole lines; then the result is parsed and compared with the intended data. A value that
cannot be changed in this way is refused, with its line.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hermes_desktop.core.errors import ConfigError, RefusedError
from hermes_desktop.settings.config_file import parse_config
from hermes_desktop.settings.yaml_tree import (
    LINE_BREAK,
    ConfigText,
    Node,
    comments_in,
    line_end,
    line_start,
)
from hermes_desktop.settings.yaml_values import same, written

# ------------------------------------------------------------------------------
# Edits of lists with one entry per line: entries are removed and added, other comments kept.

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


_STEP = 2
_NOT_CHANGED = "Change it there by hand; nothing was written."


class CannotPatchError(RefusedError):
    """The format of the file does not allow this value to be changed alone.

    Attributes:
        line: The line; 0 when it is not a single line.
    """

    def __init__(self, path: Path, line: int, reason: str) -> None:
        place = f"{path}, line {line}" if line else str(path)
        super().__init__("This setting cannot be changed here.", f"{place}: {reason}", _NOT_CHANGED)
        self.line = line


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a value in the file.

    Attributes:
        path: The keys that lead to the value.
        value: The new value.
        remove: Remove the value instead, and groups that become empty.
    """

    path: tuple[str, ...]
    value: Any = None
    remove: bool = False


@dataclass(frozen=True, slots=True)
class PatchResult:
    """A changed text.

    Attributes:
        config: The text, parsed.
        notes: Notices for the user, as sentences.
    """

    config: ConfigText
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text."""
        return self.config.text


def patch_config(config: ConfigText, edits: Sequence[Edit]) -> PatchResult:
    """Change values, one after the other.

    Args:
        config: The file as it was read, without its byte-order mark.
        edits: The changes.

    Raises:
        ConfigError: The text cannot be parsed.
        CannotPatchError: A value cannot be changed without affecting others.
    """
    notes: list[str] = []
    for edit in edits:
        before = config.values
        patch = _Patch(config, notes)
        patch.line = patch.line_of(edit.path)
        wanted = _without(before, edit.path) if edit.remove else _with(before, edit, patch)
        if same(before, wanted):
            continue
        changed = ConfigText(
            patch.removed(edit.path) if edit.remove else patch.changed(edit), config.path
        )
        try:
            right = same(changed.values, wanted)
        except ConfigError:
            right = False
        if not right:
            raise CannotPatchError(
                config.path,
                patch.line,
                "it is written in a form that cannot be changed automatically.",
            )
        config = changed
    return PatchResult(config, tuple(dict.fromkeys(notes)))


def value_at(data: Mapping[str, Any], path: Sequence[str]) -> tuple[bool, Any]:
    """Return whether a value exists at a path of the parsed data, and the value."""
    found: Any = data
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return False, None
        found = found[key]
    return True, found


def _with(data: dict[str, Any], edit: Edit, patch: "_Patch") -> dict[str, Any]:
    key, *rest = edit.path
    if not rest:
        return {**data, key: edit.value}
    inner = data.get(key)
    if inner is not None and not isinstance(inner, dict):
        raise patch.refused(f"“{key}” contains a value instead of a group of settings.")
    return {**data, key: _with(inner or {}, Edit(tuple(rest), edit.value), patch)}


def _without(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    key, *rest = path
    inner = data.get(key)
    if rest and isinstance(inner, dict):
        left = _without(inner, rest)
        if left or not inner:
            return {**data, key: left} if inner else data
    elif rest:
        return data
    return {name: value for name, value in data.items() if name != key}


class _Patch:
    """The change of one value in one text."""

    def __init__(self, config: ConfigText, notes: list[str]) -> None:
        self.text = text = config.text
        self.line = 0
        self._path = config.path
        self._notes = notes
        try:
            self._root, documents = config.tree
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            # Accepted by the parser in C, refused by the one in Python: a tab after a colon.
            self.line = _line_of_trouble(error, text)
            raise self.refused("programs read it in different ways.") from error
        if documents > 1:
            raise self.refused("the file contains more than one document.")
        if "\r" in text and "\n" not in text:
            raise self.refused("it has line endings of classic Mac OS.")

    def refused(self, reason: str) -> CannotPatchError:
        return CannotPatchError(self._path, self.line, reason)

    def line_of(self, names: Sequence[str]) -> int:
        """Return the line of a key, or of its last existing parent; 0 if there is none."""
        node, found = self._root, 0
        for name in names:
            pairs = node.pairs_with_key(name) if node is not None else []
            if not pairs:
                break
            found, node = pairs[-1][0].line, pairs[-1][1]
        return found

    # ------------------------------------------------------------------------------- setting

    def changed(self, edit: Edit) -> str:
        """Return the text with a value set."""
        node = self._root
        if node is None or node.is_null or (node.flow and not node.pairs):
            return self._first(node, edit)
        for number, name in enumerate(edit.path):
            self._must_be_plain(node)
            pairs = node.pairs_with_key(name)
            if not pairs:
                return self._inserted(node, edit.path[number:], edit.value)
            key, value = pairs[-1]
            self._tell_of_doubles(edit.path[: number + 1], pairs)
            self.line = key.line
            rest = edit.path[number + 1 :]
            if not rest:
                return self._replaced(node, key, value, edit.value)
            if value.is_null or (value.kind == "mapping" and not value.pairs):
                return self._filled(node, (key, value), _nested(rest, edit.value))
            node = value
        raise AssertionError("a change without a path")

    def _first(self, node: Node | None, edit: Edit) -> str:
        """Set the first value of a file that has none."""
        start, end = (len(self.text),) * 2
        if node is not None and node.start < node.end:  # {} or null, as literal text
            self._must_be_own(node)
            start, end = node.start, node.end
        lines = self._lines(_nested(edit.path, edit.value), 0)
        before, after = self.text[:start], self.text[end:]
        gap = "" if not before or LINE_BREAK.search(before[-1]) else self._break(start)
        return before + gap + lines.rstrip("\r\n") + (after or self._break(start))

    def _replaced(self, holder: Node, key: Node, value: Node, new: Any) -> str:
        self._must_be_own(value)
        if value.kind == "list" and not value.flow and isinstance(new, list | tuple) and new:
            old = [_item(each) for each in value.items]
            edited = edit_list(self.text, value, old, new)
            if edited is not None:
                return edited
        text, start, end = self.text, value.start, value.end
        if value.kind != "scalar":
            if _has_comment(text[start:end]):
                raise self.refused("there are comments between its entries.")
            if not value.flow:
                start = self._colon(key, value)
        if value.style in {"|", ">"}:
            end = start + len(text[start:end].rstrip())
        if isinstance(new, Mapping) and not holder.flow and value.kind == "scalar":
            return self._filled(holder, (key, value), new)
        quote = value.style if value.style in {"'", '"'} else None
        blank = "" if start and text[start - 1] in " \t\n" else " "
        return text[:start] + blank + written(new, quote=quote) + text[end:]

    def _filled(self, holder: Node, pair: tuple[Node, Node], group: Mapping[str, Any]) -> str:
        """Insert a group in place of nothing, of ``{}``, or of a single value."""
        key, value = pair
        self._must_be_own(value)
        text, start, end = self.text, value.start, value.end
        if holder.flow:
            blank = "" if start and text[start - 1] == " " else " "
            return text[:start] + blank + written(group) + text[end:]
        if LINE_BREAK.search(text[key.start : end]):
            raise self.refused("its value is on another line.")
        before = text[:start].rstrip(" ") if start < end else text[:start]
        cut = before + text[end:]
        place, behind = line_end(cut, len(before))
        lines = self._lines(group, key.column + self._step())
        gap = self._break(key.start) if place == behind else ""
        return cut[:behind] + gap + lines + cut[behind:]

    def _inserted(self, node: Node, names: Sequence[str], value: Any) -> str:
        """Insert a new line after the last one of the group."""
        text = self.text
        last_key, last = node.pairs[-1]
        self.line = last_key.line
        if node.flow:
            end = max(last_key.end, last.end)
            added = written(_nested(names, value))[1:-1]
            return f"{text[:end]}, {added}{text[end:]}"
        self._must_begin_its_line(node.pairs[0][0])
        end = max(last_key.end, last.end)
        ended = end > 0 and LINE_BREAK.fullmatch(text[end - 1]) is not None
        place, behind = (end, end) if ended else line_end(text, end)
        lines = self._lines(_nested(names, value), node.pairs[0][0].column)
        if not ended and place == behind:
            return text[:place] + self._break(place) + lines
        return text[:behind] + lines + text[behind:]

    # ------------------------------------------------------------------------------- removing

    def removed(self, path: Sequence[str]) -> str:
        """Return the text without a value, and without the groups that become empty."""
        node, chain = self._root, []
        for number, name in enumerate(path):
            if node is None or node.kind != "mapping":
                return self.text
            self._must_be_plain(node)
            pairs = node.pairs_with_key(name)
            if not pairs:
                return self.text
            self.line = pairs[-1][0].line
            if len(pairs) > 1:
                raise self.refused(f"“{'.'.join(path[: number + 1])}” occurs twice.")
            chain.append((node, pairs[0]))
            node = pairs[0][1]
        while len(chain) > 1 and len(chain[-1][0].pairs) == 1:
            chain.pop()
        holder, (key, value) = chain[-1]
        for each in value.walk():
            self._must_be_own(each)
        return self._cut_flow(holder, key, value) if holder.flow else self._cut(key, value)

    def _cut(self, key: Node, value: Node) -> str:
        self._must_begin_its_line(key)
        end = max(key.end, value.end)
        ended = LINE_BREAK.fullmatch(self.text[end - 1]) is not None
        behind = end if ended else line_end(self.text, end)[1]
        start = line_start(self.text, key.start)
        return self.text[:start] + comments_in(self.text, start, behind, value) + self.text[behind:]

    def _cut_flow(self, holder: Node, key: Node, value: Node) -> str:
        text, number = self.text, [pair[0] for pair in holder.pairs].index(key)
        if number:
            before = holder.pairs[number - 1]
            start, end = max(before[0].end, before[1].end), max(key.end, value.end)
        elif len(holder.pairs) > 1:
            start, end = key.start, holder.pairs[1][0].start
        else:
            start, end = holder.start + 1, holder.end - 1
        if _has_comment(text[start:end]):
            raise self.refused("there are comments between its entries.")
        return text[:start] + text[end:]

    # ------------------------------------------------------------------------------- checks

    def _must_be_plain(self, node: Node) -> None:
        """Require a group that can be changed without changing another."""
        self._must_be_own(node)
        if node.kind != "mapping":
            raise self.refused("it contains a value instead of a group of settings.")
        for key, _ in node.pairs:
            if key.text == "<<" and key.style is None:
                self.line = key.line
                raise self.refused("the group includes another one (<<).")

    def _must_be_own(self, node: Node) -> None:
        if node.anchor or node.alias:
            self.line = node.line or self.line
            raise self.refused("the value is shared by several places (& and *).")
        if node.tag is not None:
            raise self.refused(f"the value has a tag ({node.tag}).")

    def _must_begin_its_line(self, key: Node) -> None:
        before = self.text[line_start(self.text, key.start) : key.start]
        if before.strip(" "):
            self.line = key.line
            what = "a tab" if before.isspace() else "something else"
            raise self.refused(f"{what} comes before it on its line.")

    def _tell_of_doubles(self, path: Sequence[str], pairs: Sequence[tuple[Node, Node]]) -> None:
        if len(pairs) > 1:
            lines = ", ".join(str(key.line) for key, _ in pairs)
            twice = f"“{'.'.join(path)}” occurs {len(pairs)} times (lines {lines})"
            self._notes.append(f"{twice}; the last one is used.")

    # ------------------------------------------------------------------------------- writing

    def _colon(self, key: Node, value: Node) -> int:
        """Return the position after the colon of a key whose value begins on another line."""
        between = self.text[key.end : value.start]
        if "#" in between:
            raise self.refused("there is a comment between its name and its value.")
        return key.end + between.index(":") + 1

    def _lines(self, group: Mapping[str, Any], column: int) -> str:
        blanks, ending = " " * column, self._break(len(self.text))
        lines: list[str] = []
        for name, value in group.items():
            if isinstance(value, Mapping) and value:
                lines.append(f"{blanks}{written(name)}:{ending}")
                lines.append(self._lines(value, column + self._step()))
            else:
                lines.append(f"{blanks}{written(name)}: {written(value)}{ending}")
        return "".join(lines)

    def _step(self) -> int:
        """Return the indentation width of this file."""
        for _, value in self._root.pairs if self._root is not None else ():
            if value.kind == "mapping" and not value.flow and value.pairs:
                return max(1, value.pairs[0][0].column)
        return _STEP

    def _break(self, place: int) -> str:
        """Return the line break that is used before this position."""
        return "\r\n" if self.text[:place].rfind("\r\n") >= 0 else "\n"


def _nested(names: Sequence[str], value: Any) -> dict[str, Any]:
    name, *rest = names
    return {name: _nested(rest, value) if rest else value}


def _item(node: Node) -> Any:
    """Return a list entry in a form in which it can be found again."""
    if node.kind != "scalar" or node.alias or node.anchor or node.tag:
        return node
    return parse_config(f"x: {written(node.text)}" if node.style else f"x: {node.text}", Path())[
        "x"
    ]


def _line_of_trouble(error: Exception, text: str) -> int:
    """Return the line number as editors count lines, which differs from the parser's."""
    place = getattr(getattr(error, "problem_mark", None), "index", None)
    return text.count("\n", 0, place) + 1 if isinstance(place, int) else 0


def _has_comment(text: str) -> bool:
    return re.search(r"(?:^|\s)#", text) is not None
