"""sessions.json is shared: what is not ours to change stays as it is, byte for byte."""

import json
from pathlib import Path

import pytest

from hermes_desktop.gateway.sessions.session_routing import (
    README_KEY,
    IndexFile,
    UnreadableIndexError,
    decode_entries,
    read_members,
    render_entry,
    split_members,
)

FOREIGN = """{
  "_README": "somebody's note about state.db",
  "strange" : {"a":1,   "b" : [ 1,2 ], "ü": "\\u00fc"},
  "number": 7,
  "_other": "kept",
  "ours": {"x": 1}
}
"""


def test_members_keep_their_text() -> None:
    members = split_members(FOREIGN)
    assert members["strange"] == '{"a":1,   "b" : [ 1,2 ], "ü": "\\u00fc"}'
    assert members["number"] == "7"
    assert decode_entries(members).keys() == {"strange", "ours"}
    assert split_members(" { } ") == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1', '{"a" 1}', '{"a": 1,}', '{"a": x}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(UnreadableIndexError):
        split_members(text)


def test_a_change_touches_only_its_members(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "sessions.json"
    path.parent.mkdir()
    path.write_text(FOREIGN, encoding="utf-8")
    IndexFile(path.parent).write_changes({"new": render_entry({"y": {"z": 2}})}, {"ours"})
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    assert list(data) == [README_KEY, "strange", "number", "_other", "new"]
    assert '{"a":1,   "b" : [ 1,2 ], "ü": "\\u00fc"}' in text
    assert data["new"] == {"y": {"z": 2}}
    assert "state.db" in data[README_KEY]
    assert "hermes sessions list" in data[README_KEY]
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file_is_made_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "sessions.json"
    assert read_members(path) == {}
    IndexFile(path.parent).write_changes({}, ())
    assert json.loads(path.read_text(encoding="utf-8")).keys() == {README_KEY}


@pytest.mark.parametrize("content", [b"not json", b"\xff\xfe{"])
def test_a_file_that_cannot_be_understood_is_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sessions.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableIndexError):
        IndexFile(tmp_path).write_changes({"a": "{}"}, ())
    assert path.read_bytes() == content


def test_it_is_read_again_when_somebody_else_wrote(tmp_path: Path) -> None:
    index = IndexFile(tmp_path)
    assert index.members() == {}
    index.write_changes({"a": "1"}, ())
    members = index.members()
    assert index.members() is members
    index.path.write_text('{"b": 2}', encoding="utf-8")
    assert index.members() == {"b": "2"}
    index.path.unlink()
    assert index.members() == {}
