"""Settings that older programs store as JSON; only read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.config_file import read_settings_text


def read_json_settings(path: Path) -> Mapping[str, Any]:
    """Read a JSON object; empty when there is no file. Blocking, any thread.

    Raises:
        ConfigError: The file exists and cannot be read or parsed.
    """
    text = read_settings_text(path)
    if text is None or not text.strip():
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_understood(path, str(error)) from error
    if not isinstance(data, dict):
        raise _not_understood(path, f"it holds a {type(data).__name__}, not a group of names")
    return data


def _not_understood(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path.name} cannot be understood.",
        f"{path}: {reason}.",
        "Correct the file, or move it away; nothing in it was changed.",
    )
