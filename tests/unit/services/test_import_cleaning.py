"""What an import converts, sets aside and names as lost."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_desktop.services.transfer.import_cleaning import LostValue, cleaned
from hermes_desktop.state.records.stored_values import imported_folder

MAY = 1_777_644_634.0


def session(**more: Any) -> dict[str, Any]:
    return {"id": "a", "source": "cli", "started_at": MAY, **more}


def test_a_sound_session_stays_as_it_is() -> None:
    whole = session(title="Trip", messages=[{"role": "user", "content": "x", "timestamp": MAY}])
    assert cleaned(whole) == (whole, ())


@pytest.mark.parametrize("given_time", ["2026-05-01T14:10:34Z", MAY * 1e3])
def test_times_of_other_forms_become_seconds(given_time: Any) -> None:
    messages = [{"role": "user", "content": "x", "timestamp": given_time}]
    kept, lost = cleaned(session(started_at=given_time, ended_at=given_time, messages=messages))
    assert lost == ()
    assert kept["started_at"] == kept["ended_at"] == kept["messages"][0]["timestamp"] == MAY


def test_what_is_lost_is_named() -> None:
    messages = [{"role": "user", "timestamp": "soon"}, {"role": "user", "timestamp": True}]
    kept, lost = cleaned(session(started_at=10**400, input_tokens=2**70, messages=messages))
    assert kept["started_at"] is None
    assert kept["input_tokens"] is None
    assert [(each.field, each.count) for each in lost] == [
        ("started_at", 0), ("input_tokens", 0), ("timestamp", 2)
    ]  # fmt: skip
    assert lost[2].text == (
        "a: timestamp of 2 messages (soon) is lost; the time of the import is used."
    )
    assert all(len(each.text) < 200 for each in lost)


@pytest.mark.parametrize("config", [None, "", '{"k": 1}', {"k": 1}, "no json"])
def test_a_folder_is_set_aside(config: Any) -> None:
    kept, lost = cleaned(session(cwd="/", model_config=config))
    assert "cwd" not in kept
    assert lost == ()
    assert imported_folder(kept["model_config"]) == "/"
    assert imported_folder(json.dumps(kept["model_config"])) == "/"
    if config in ('{"k": 1}', {"k": 1}):
        assert kept["model_config"]["k"] == 1


def test_other_sessions_have_no_imported_folder() -> None:
    for config in (None, "", "{}", "[1]", {"_imported_cwd": 5}):
        assert imported_folder(config) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.dictionaries(st.sampled_from(["started_at", "ended_at", "cwd", "model_config", "x"]), JSON)
)
def test_anything_in_a_field_is_taken_or_named(fields: dict[str, Any]) -> None:
    kept, lost = cleaned({"id": "a", **fields})
    for name in ("started_at", "ended_at"):
        assert kept.get(name) is None or isinstance(kept[name], float)
    assert all(isinstance(each, LostValue) and each.text for each in lost)
