"""Diagnosis of the text of config.yaml: repeated keys, and the lines around a mistake.

Blocking; secrets are hidden.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.settings.config_file import read_settings_text
from hermes_desktop.settings.secret_masking import MASK, is_secret_key, mask_comments
from hermes_desktop.settings.yaml_tree import LINE_BREAK, Node, parse_tree

_AROUND = 2
_LONGEST = 160
_PAIR = re.compile(r"^(?P<head>\s*(?:-\s+)?[\"']?(?P<key>[\w.-]+)[\"']?\s*:\s*)(?P<value>\S.*)$")


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A key that occurs more than once in one mapping; the last occurrence applies.

    Attributes:
        key: The dotted key.
        lines: The lines where it occurs, from top to bottom.
    """

    key: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of the file, with its secret hidden."""

    number: int
    text: str


def repeated_keys(path: Path) -> tuple[RepeatedKey, ...]:
    """Return keys that were written more than once; none where the file cannot be parsed."""
    try:
        root, _ = parse_tree(read_settings_text(path) or "")
    except (ConfigError, yaml.YAMLError, ValueError, RecursionError):
        return ()
    return tuple(_repeated(root, ())) if root is not None else ()


def lines_around(path: Path, line: int) -> tuple[TextLine, ...]:
    """Return some lines of a file that cannot be parsed; none where it cannot even be read.

    Args:
        path: The file.
        line: The line with the mistake, counted from 1.
    """
    try:
        text = read_settings_text(path, errors="replace") or ""
    except ConfigError:
        return ()
    redactor = SecretRedactor()
    lines = LINE_BREAK.split(text) if text else []
    first, last = max(1, line - _AROUND), min(len(lines), line + _AROUND)
    return tuple(
        TextLine(number, redactor.clean(_masked_line(lines[number - 1]))[:_LONGEST])
        for number in range(first, last + 1)
    )


def _masked_line(line: str) -> str:
    """Mask the secret of a line on its own, as the structure of invalid YAML is unknown."""
    found = _PAIR.match(line)
    if found is not None and is_secret_key(found["key"]):
        return f"{found['head']}{MASK}"
    return mask_comments(line)


def _repeated(node: Node, path: tuple[str, ...]) -> Iterator[RepeatedKey]:
    lines: dict[str, list[int]] = defaultdict(list)
    for key, value in node.pairs:
        lines[key.text].append(key.line)
        yield from _repeated(value, (*path, key.text))
    for item in node.items:
        yield from _repeated(item, path)
    for name, found in lines.items():
        if len(found) > 1:
            yield RepeatedKey(".".join((*path, name)), tuple(found))
