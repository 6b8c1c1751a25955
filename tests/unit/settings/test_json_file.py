"""Settings kept as JSON: read, or said why not."""

from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.json_file import read_json_settings


def test_what_stands_there(tmp_path: Path) -> None:
    path = tmp_path / "gateway.json"
    assert read_json_settings(path) == {}
    path.write_text(" \n", encoding="utf-8")
    assert read_json_settings(path) == {}
    path.write_text('\ufeff{"a": 1}', encoding="utf-8")
    assert read_json_settings(path) == {"a": 1}


@pytest.mark.parametrize("text", ["{", "[]", "null", "[" * 100_000])
def test_what_makes_no_sense(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gateway.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"gateway\.json"):
        read_json_settings(path)
