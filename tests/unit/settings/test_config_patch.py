"""config.yaml changed value by value: what was not asked for stays, character by character."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.settings.config_file import parse_config
from hermes_desktop.settings.config_patch import (
    CannotPatchError,
    Edit,
    PatchResult,
    patch_config,
    value_at,
)
from hermes_desktop.settings.yaml_tree import ConfigText, Node, parse_tree
from hermes_desktop.settings.yaml_values import same
from tests.fakes.config_corpus import corpus

FILE = Path("/home/me/.hermes/config.yaml")
CORPUS = dict(corpus())


def patched(text: str, edits: list[Edit]) -> PatchResult:
    return patch_config(ConfigText(text, FILE), edits)


def change(text: str, key: str, value: Any) -> str:
    return patched(text, [Edit(tuple(key.split(".")), value)]).text


def unset(text: str, key: str) -> str:
    return patched(text, [Edit(tuple(key.split(".")), remove=True)]).text


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("a: 1  # one\nb: 2\n", "a", 3, "a: 3  # one\nb: 2\n"),
        ("a:\n  b: x\n\n# c\nc: 1\n", "a.d", "z", "a:\n  b: x\n  d: z\n\n# c\nc: 1\n"),
        ("a:  # group\nb: 1\n", "a.c", True, "a:  # group\n  c: true\nb: 1\n"),
        ("a: {}  # none\n", "a.b.c", 1, "a:  # none\n  b:\n    c: 1\n"),
        ("a: null\n", "a.b", "x", "a:\n  b: x\n"),
        ("a: {b: 1}\n", "a.c", "x, y", "a: {b: 1, c: 'x, y'}\n"),
        ("a: {b: 1, c: [1, 2]}\n", "a.c", ["3"], "a: {b: 1, c: ['3']}\n"),
        ("", "a.b", 1, "a:\n  b: 1\n"),
        ("# only\n# words", "a", 1, "# only\n# words\na: 1\n"),
        ("{}\n", "a", 1, "a: 1\n"),
        ("a: 1", "b", 2, "a: 1\nb: 2\n"),
        ("a: 'x'\n", "a", "it's", "a: 'it''s'\n"),
        ('a: "x"\n', "a", "y", 'a: "y"\n'),
        ("a: x\n", "a", "on", "a: 'on'\n"),
        ("a: x\n", "a", "1:30", "a: '1:30'\n"),
        ("a: x\n", "a", "0o17", "a: '0o17'\n"),
        ("a: x\n", "a", "two\nlines", 'a: "two\\nlines"\n'),
        ("a: |\n  text\n  more\nb: 1\n", "a", "x", "a: x\nb: 1\n"),
        ("a:\n    b: 1\n", "c.d", 2, "a:\n    b: 1\nc:\n    d: 2\n"),
        ("a: 1\r\nb:\r\n  c: 2\r\n", "b.d", 3, "a: 1\r\nb:\r\n  c: 2\r\n  d: 3\r\n"),
        ("a:\n- '1' # Anna\n- '2' # Ben\n", "a", ["2", "3"], "a:\n- '2' # Ben\n- '3'\n"),
        ("a:\n  - 1\n\nb: 1\n", "a", ["x"], "a:\n  - x\n\nb: 1\n"),
        ("a:\n- x\nb: 1\n", "a", [], "a: []\nb: 1\n"),
        ("model: gpt\n", "model", {"default": "gpt", "provider": "x"},
         "model:\n  default: gpt\n  provider: x\n"),
        ("a: |+\n  x\n\n", "b", 1, "a: |+\n  x\n\nb: 1\n"),
        ("---\na: 1\n...\n", "b", 2, "---\na: 1\nb: 2\n...\n"),
    ],
)  # fmt: skip
def test_one_value_changes(before: str, key: str, value: Any, after: str) -> None:
    assert change(before, key, value) == after
    found = value_at(parse_config(change(before, key, value), FILE), key.split("."))
    assert found == (True, value)


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("a: 1\nb: 2 # two\nc: 3\n", "b", "a: 1\nc: 3\n"),
        ("a:\n  b: 1\n  c: 2\n", "a.c", "a:\n  b: 1\n"),
        ("a:\n  b:\n    c: 2\nd: 1\n", "a.b.c", "d: 1\n"),
        ("a: {b: 1, c: 2, d: 3}\n", "a.c", "a: {b: 1, d: 3}\n"),
        ("a: {b: 1, c: 2}\n", "a.b", "a: {c: 2}\n"),
        ("a: {b: 1}\nc: 1\n", "a.b", "c: 1\n"),
        ("a: 1\n", "a", ""),
        ("a:\n- x\n- y\nb: 1\n", "a", "b: 1\n"),
        ("a: # y\n  # z\n  b: 1\n# end\n", "a.b", "  # z\n# end\n"),
        ("a:\n- x\n\n# family\n- y\nb: 1\n", "a", "# family\nb: 1\n"),
        ("a: |\n  x\n  # text\n\nb: 1\n", "a", "\nb: 1\n"),
        ("a:\n  b: 1\n# x", "a.b", "# x"),
        ("a: 1\n", "b.c", "a: 1\n"),
        ("a: 1\n", "a.b", "a: 1\n"),
    ],
)
def test_one_value_goes(before: str, key: str, after: str) -> None:
    assert unset(before, key) == after


@pytest.mark.parametrize(
    ("text", "key", "line", "reason"),
    [
        ("a: &x\n  b: 1\nc: *x\n", "a.b", 1, "shared by several"),
        ("x: 1\na: &x\n  b: 1\nc: *x\n", "c.b", 4, "shared by several"),
        ("b: &b {c: 1}\na:\n  <<: *b\n  d: 1\n", "a.d", 3, "includes another"),
        ("a: !!int 5\n", "a", 1, "a tag"),
        ("b: 1\na: 1\n", "a.b", 2, "contains a value instead"),
        ("b: 1\na:\n  b: [1]\n", "a.b.c", 3, "contains a value instead"),
        ("a: [1, # one\n 2]\n", "a", 1, "there are comments between"),
        ("a: 1\rb: 2\r", "a", 0, "classic Mac OS"),
        ("b: 1\na: \tx\n", "b", 2, "in different ways"),
        ("? a\n: 1\n", "b", 1, "something else comes before"),
    ],
)
def test_what_cannot_be_changed_alone_is_refused_with_its_line(
    text: str, key: str, line: int, reason: str
) -> None:
    with pytest.raises(CannotPatchError) as caught:
        change(text, key, 2)
    assert reason in caught.value.detail
    assert caught.value.line == line
    assert not line or f"line {line}: " in caught.value.detail


def test_a_key_that_stands_twice_is_changed_where_it_counts_and_said() -> None:
    done = patched("a: 1\nb: 1\na: 2\n", [Edit(("a",), 3)])
    assert done.text == "a: 1\nb: 1\na: 3\n"
    assert done.notes == ("“a” occurs 2 times (lines 1, 3); the last one is used.",)
    with pytest.raises(CannotPatchError, match="occurs twice"):
        unset("a: 1\nb: 1\na: 2\n", "a")


def test_the_corpus_is_large_and_real() -> None:
    assert len(CORPUS) >= 100
    for text in CORPUS.values():
        parse_config(text, FILE)


# ------------------------------------------------------------------------------- any sequence

KEYS = (
    "model.default",
    "model.provider",
    "model.base_url",
    "agent.max_turns",
    "session_reset.mode",
    "session_reset.idle_minutes",
    "display.busy_input_mode",
    "display.greeting",
    "streaming.enabled",
    "telegram.allow_from",
    "discord.allow_from",
    "platforms.telegram.enabled",
    "platforms.x.extra.y",
    "gateway.session_reset.mode",
    "gateway.platforms.telegram.enabled",
    "session_store_max_age_days",
    "reset_by_platform.slack.mode",
    "max_concurrent_sessions",
    "gateway.unauthorized_dm_behavior",
)
WORDS = st.one_of(
    st.sampled_from(["on", "off", "yes", "null", "~", "1:30", "0x1f", "1e3", "- a", "# x", "a: b",
                     "{a}", "*x", "&y", "!z", "%", "@", "`", "'", '"', "${KEY}", "2026-11-28"]),
    st.text(min_size=1, max_size=20),
)  # fmt: skip
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    WORDS,
    st.none(),
    st.lists(WORDS, max_size=4),
)
EDITS = st.builds(
    lambda key, value, remove: Edit(tuple(key.split(".")), None if remove else value, remove),
    st.sampled_from(KEYS),
    VALUES,
    st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(sorted(CORPUS)), edits=st.lists(EDITS, min_size=1, max_size=6))
def test_any_changes_keep_the_rest(name: str, edits: list[Edit]) -> None:
    text = CORPUS[name]
    for edit in edits:
        before = parse_config(text, FILE)
        try:
            changed = patched(text, [edit]).text
        except CannotPatchError:
            continue
        after = parse_config(changed, FILE)
        found, value = value_at(after, edit.path)
        assert found is not edit.remove
        assert edit.remove or same(value, edit.value)
        assert same(_but(before, edit.path), _but(after, edit.path))
        assert yaml.safe_load(changed) is None or same(yaml.safe_load(changed), after)
        _only_lines_of(edit, text, changed)
        text = changed


def _but(data: Any, path: tuple[str, ...]) -> Any:
    """Everything else, as pairs of a path and a value."""
    return sorted(
        f"{place}={value!r}"
        for place, value in _leaves(data, ())
        if place[: len(path)] != path and place != path[: len(place)]
    )


def _leaves(data: Any, place: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict) and data:
        return [leaf for key, each in data.items() for leaf in _leaves(each, (*place, key))]
    return [(place, data)]


def _only_lines_of(edit: Edit, before: str, after: str) -> None:
    """Every line that is not one of the value, or of a group that goes, stands as it did."""
    old, new = before.splitlines(), after.splitlines()
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    own = _lines_of(edit, before)
    texts = {old[number] for number in own if number < len(old)}
    strange = [old[number] for number in range(first, len(old) - last) if number not in own]
    assert not [line for line in strange if line not in texts]


def _lines_of(edit: Edit, text: str) -> set[int]:
    """The lines, counted from 0, that a change may touch."""
    root, _ = parse_tree(text)
    if root is None or not root.pairs:
        return set() if root is None else _span(text, root, root)
    chain: list[tuple[Node, Node, Node]] = []
    node = root
    for name in edit.path:
        pairs = node.pairs_with_key(name)
        if not pairs:
            break
        chain.append((node, *pairs[-1]))
        node = pairs[-1][1]
    if len(chain) == len(edit.path):
        while edit.remove and len(chain) > 1 and len(chain[-1][0].pairs) == 1:
            chain.pop()  # a group that would be empty goes, too
        return _span(text, *chain[-1][1:])
    # New: a group that holds nothing, or stands on one line, changes itself; others only grow.
    grows = node.kind == "mapping" and node.pairs and not node.flow
    if grows:
        return set()
    return _span(text, *chain[-1][1:]) if chain else _span(text, root, root)


def _span(text: str, first: Node, last: Node) -> set[int]:
    end = max(first.end, last.end)
    return set(range(text.count("\n", 0, first.start), text.count("\n", 0, end) + 1))
