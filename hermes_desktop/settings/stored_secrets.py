"""The values that the secret stores of a Hermes home hold, to be removed from texts."""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes_desktop.core.files.secret_places import OWN_STORES
from hermes_desktop.settings.env_file import read_env_file

log = logging.getLogger(__name__)

_MOST_BYTES = 1_000_000


def stored_secrets(home: Path) -> tuple[Mapping[str, str], ...]:
    """Return the values in the stores, by name; a name may occur again. Blocking.

    A store of JSON that cannot be read or decoded counts as empty.

    Args:
        home: The Hermes home.

    Raises:
        ConfigError: ``.env`` exists and cannot be read.
    """
    found: list[Mapping[str, str]] = []
    for name in OWN_STORES:
        found += [read_env_file(home / name)] if name == ".env" else _from_json(home / name)
    return tuple(found)


def _from_json(path: Path) -> list[dict[str, str]]:
    try:
        with path.open("rb") as stream:
            return [{name: text} for name, text in _texts(json.loads(stream.read(_MOST_BYTES)), "")]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        log.warning("The secrets in %s are not known: %s", path.name, type(error).__name__)
        return []


def _texts(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Return every text with its name; a list names what is in it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, name)
