"""Reading of config.yaml with the semantics of the ``hermes`` command; ``config_patch`` writes it.

YAML 1.1 rules apply (``on`` is true, ``1:30`` is 90), and of a duplicate key the last one counts,
because the file is shared with a program that reads it so.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from hermes_desktop.core.errors import ConfigError

Lookup = Callable[[str], str | None]
"""Returns the value of a variable, or None; the caller decides which layers are searched."""

_MOST_REMEMBERED = 200_000
"""Characters of a text whose content stays in memory."""
MOST_BYTES = 2_000_000
"""Maximum size; a settings file has some kilobytes, and reading this much takes a second."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# The parser written in C has the same rules and is several times faster; not every build has it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """The content of the file when it was read.

    Attributes:
        data: The decoded mapping; empty when there is no file. Must not be modified.
        path: The path of the file, for messages.
    """

    data: Mapping[str, Any]
    path: Path


def read_config(path: Path) -> ConfigDocument:
    """Read and decode config.yaml. Blocking, may run on any thread.

    Raises:
        ConfigError: The file exists and cannot be read or parsed; the detail names the line where
            that is known.
    """
    text = read_settings_text(path)
    return ConfigDocument({} if text is None else parse_config(text, path), path)


def parse_config(text: str, path: Path) -> dict[str, Any]:
    """Decode the text of config.yaml; empty when it has no values.

    The settings, agents and tools of one process read the same text one after the other: it is
    parsed once.

    Args:
        text: The whole text, without a byte-order mark.
        path: The path of the file, for messages.

    Returns:
        The decoded mapping, which must not be modified.

    Raises:
        ConfigError: It cannot be parsed; the detail names the line where that is known.
    """
    parse = _parse_once if len(text) <= _MOST_REMEMBERED else _parse
    return parse(text, path)


@lru_cache(maxsize=4)
def _parse_once(text: str, path: Path) -> dict[str, Any]:
    return _parse(text, path)


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        data = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader, see above
    except yaml.YAMLError as error:
        raise _not_understood(path, _where(error, text), _reason(error)) from error
    except (ValueError, RecursionError) as error:
        # Raised by values that look like a date or a number but are invalid, and by endless
        # nesting.
        raise _not_understood(path, _line_of_no_value(text), str(error)) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        what = "a list" if isinstance(data, list) else "a single value"
        raise _not_understood(
            path, "line 1", f"the file contains {what} instead of a group of settings"
        )
    return data


def read_settings_text(path: Path, *, errors: str = "strict") -> str | None:
    """Return the text of a settings file without its byte-order mark, None without a file.

    Args:
        path: The file; a symbolic link is followed.
        errors: How to handle bytes that are not UTF-8, as in ``bytes.decode``.

    Raises:
        ConfigError: It is not a regular file, may not be read, or is not UTF-8.
    """
    data = read_settings_bytes(path)
    return None if data is None else settings_text(data, path, errors=errors)


def read_settings_bytes(path: Path) -> bytes | None:
    """Return the bytes of a settings file, None when there is no file.

    Raises:
        ConfigError: It is not a regular file, too large, or may not be read.
    """
    try:
        if path.exists() and not path.is_file():
            # Reading a pipe or a device could block forever.
            raise _unreadable(path, "It is not a plain file.")
        require_size_below(path, MOST_BYTES)
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, f"{error.strerror or type(error).__name__}.") from error


def settings_text(data: bytes, path: Path, *, errors: str = "strict") -> str:
    """Decode the content of a settings file, without a byte-order mark.

    Args:
        data: The content of the file.
        path: The path of the file, for messages.
        errors: As in ``bytes.decode``.

    Raises:
        ConfigError: It is not UTF-8; names the encoding where it is known.
    """
    encoding = _wide_encoding(data)
    if encoding and errors != "strict":
        return data.decode(encoding, errors).removeprefix("\ufeff")
    if encoding:
        raise ConfigError(
            f"{path.name} is not UTF-8 text.",
            f"{path} is stored as {encoding}, which other Hermes programs cannot read.",
            "Save the file as UTF-8.",
        )
    try:
        return data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path.name} is not UTF-8 text.",
            f"{path}, line {line}: it contains invalid bytes.",
            "Save the file as UTF-8.",
        ) from error


def _wide_encoding(data: bytes) -> str:
    """Detect UTF-16 or UTF-32, as Windows PowerShell and Notepad save text; "" for other text."""
    for mark, encoding in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF32_BE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if data.startswith(mark):
            return encoding
    start = data[:64]
    if len(start) >= 4 and not any(start[1::2]) and all(start[::2]):  # noqa: PLR2004
        return "UTF-16-LE"
    if len(start) >= 4 and not any(start[::2]) and all(start[1::2]):  # noqa: PLR2004
        return "UTF-16-BE"
    return ""


def require_size_below(path: Path, most: int) -> None:
    """Refuse a file that is too large to be a settings file, and slow to read.

    Raises:
        ConfigError: It is larger than ``most`` bytes.
        OSError: Its size cannot be determined.
    """
    size = path.stat().st_size
    if size > most:
        raise ConfigError(
            f"{path.name} is too large.",
            f"{path} has {size / 1e6:.1f} MB; the limit is {most / 1e6:g} MB.",
            "Remove everything that is not a setting.",
        )


def expand_env(value: str, lookup: Lookup, where: str = "config.yaml") -> str:
    """Replace ``${NAME}`` by the values of variables.

    Args:
        value: Text of a setting.
        lookup: Returns a variable's value.
        where: Origin of the text, for the message ("config.yaml, model.api_key").

    Raises:
        ConfigError: A named variable is not set; the value itself is not shown.
    """

    def replaced(match: re.Match[str]) -> str:
        found = lookup(match[1])
        if found is None:
            raise ConfigError(
                f"The variable {match[1]} is not set.",
                f"{where} refers to it as ${{{match[1]}}}.",
                f"Set {match[1]} in the environment or in .env, or change that setting.",
            )
        return found

    return _VARIABLE.sub(replaced, value)


def _unreadable(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path.name} cannot be read.",
        f"{path}: {reason}",
        "Check the file and its permissions.",
    )


def _not_understood(path: Path, where: str, reason: str) -> ConfigError:
    place = f"{path}, {where}" if where else str(path)
    return ConfigError(
        f"{path.name} cannot be parsed.",
        f"{place}: {' '.join(reason.split())}.",
        "Correct that line; nothing in the file was changed.",
    )


def _where(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return f"line {mark.line + 1}, column {mark.column + 1}"
    place = getattr(error, "position", None)  # of an invalid character, in bytes
    return f"line {text.encode()[:place].count(10) + 1}" if isinstance(place, int) else ""


def _line_of_no_value(text: str) -> str:
    """Return the line of a value that looks like a date or number but is invalid; "" if unknown."""
    loader = _LOADER(text)
    seen: set[int] = set()  # nodes with many references are checked once
    try:
        waiting = [loader.get_single_node()]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                waiting += [each for pair in reversed(node.value) for each in reversed(pair)]
            elif isinstance(node, yaml.SequenceNode):
                waiting += reversed(node.value)
            elif node is not None and _is_no_value(loader, node):
                return f"line {node.start_mark.line + 1}"
    except RecursionError:
        pass
    finally:
        loader.dispose()
    return ""


def _is_no_value(loader: Any, node: yaml.ScalarNode) -> bool:
    try:
        loader.construct_object(node)
    except ValueError:
        return True
    return False


def _reason(error: yaml.YAMLError) -> str:
    reason = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(reason) if reason else "it is not YAML"
