"""The draft: what counts as a change, the way back and forth, and what others change meanwhile."""

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.settings_repository import SettingsRepository
from hermes_desktop.ui.settings.saving.draft import Draft

DAYS, MODE, PEOPLE = "session_store_max_age_days", "session_reset.mode", "telegram.allow_from"


class Home:
    """A home and a draft on it."""

    def __init__(self, folder) -> None:
        self.file = folder / "config.yaml"
        self.book = SettingsRepository(HermesPaths(folder, folder), {}, SystemClock())
        self.draft = Draft()

    def says(self, text: str) -> list[str]:
        self.file.write_text(text, encoding="utf-8")
        return self.draft.load(self.book.look())


@pytest.fixture
def on(qapp, home) -> Home:
    found = Home(home)
    found.says("session_store_max_age_days: 30\n")
    return found


def test_what_is_filled_in_again_is_no_change(on) -> None:
    on.draft.give(DAYS, "3", typing=True)
    on.draft.give(DAYS, "30", typing=True)
    on.draft.give(MODE, "none")
    assert not on.draft.edits


@pytest.mark.parametrize(
    ("key", "given", "part"),
    [
        (DAYS, "", "not a number"),
        (DAYS, "-1", "from 0 to 36500"),
        (DAYS, "2.5", "not a whole number"),
        (DAYS, "many", "not a number"),
        ("model.base_url", "ftp://x", "not the address of a server"),
        ("model.base_url", "http://me:pw@x/v1", "password"),
        ("compression.threshold", "nan", "not a number"),
    ],
)
def test_what_makes_no_sense_is_kept_and_named(on, key, given, part) -> None:
    on.draft.give(key, given)
    assert part in on.draft.edits[key].problem
    assert on.draft.faulty == [key]
    assert on.draft.value_of(key) == on.draft.views[key].value


def test_letters_are_one_step_and_fields_are_many(on) -> None:
    for text in ("3", "36", "365"):
        on.draft.give(DAYS, text, typing=True)
    on.draft.give(MODE, "daily")
    assert on.draft.undo() == MODE
    assert on.draft.edits[DAYS].value == 365
    assert on.draft.undo() == DAYS
    assert not on.draft.edits
    assert on.draft.undo() == ""
    assert (on.draft.redo(), on.draft.redo()) == (DAYS, MODE)
    assert [change.key for change in on.draft.changes()] == [DAYS, MODE]


def test_typing_that_was_left_is_a_step_of_its_own(on) -> None:
    on.draft.give(DAYS, "3", typing=True)
    on.draft.end_typing()
    on.draft.give(DAYS, "31", typing=True)
    on.draft.undo()
    assert on.draft.edits[DAYS].value == 3


def test_what_was_discarded_comes_back(on) -> None:
    on.draft.give(DAYS, "31")
    on.draft.give(PEOPLE, ["5"])
    on.draft.discard()
    assert not on.draft.edits
    on.draft.undo()
    assert set(on.draft.edits) == {DAYS, PEOPLE}


def test_back_to_the_default(on) -> None:
    on.draft.reset(DAYS)
    assert on.draft.changes()[0].unset
    assert on.draft.value_of(DAYS) == 90
    on.draft.drop(DAYS)
    on.draft.reset(MODE)  # it is empty
    assert not on.draft.edits


def test_an_empty_line_goes_back_to_the_default(on) -> None:
    on.says("model:\n  default: one\n")
    on.draft.give("model.default", "")
    assert on.draft.changes()[0].unset


def test_a_rule_of_its_own_stands_even_if_it_says_the_same(on) -> None:
    on.draft.give("reset_by_type.dm.mode", "none", insist=True)
    assert on.draft.changes()[0].value == "none"
    on.draft.give("reset_by_type.dm.mode", "idle")
    on.draft.give("reset_by_type.dm.mode", "none")
    assert on.draft.changes()[0].value == "none"


def test_other_keys_that_change_elsewhere_are_taken_over(on) -> None:
    on.draft.give(DAYS, "31")
    changed = on.says("session_store_max_age_days: 30\nsession_reset:\n  mode: daily\n")
    assert changed == [MODE]
    assert on.draft.value_of(MODE) == "daily"
    assert on.draft.edits[DAYS].value == 31
    assert not on.draft.faulty


def test_the_same_key_is_a_conflict_until_somebody_decides(on) -> None:
    on.draft.give(DAYS, "31")
    on.says("session_store_max_age_days: 45\n")
    assert on.draft.faulty == [DAYS]
    on.draft.resolve_with_edit(DAYS)
    assert not on.draft.faulty
    assert on.draft.changes()[0].seen == on.draft.views[DAYS].seen
    on.says("session_store_max_age_days: 46\n")
    on.draft.drop(DAYS)
    assert on.draft.value_of(DAYS) == 46


def test_what_somebody_else_did_already_is_no_change_any_more(on) -> None:
    on.draft.give(DAYS, "31")
    on.says("session_store_max_age_days: 31\n")
    assert not on.draft.edits


def test_a_value_that_made_no_sense_is_changed_by_filling_in_the_default(on) -> None:
    on.says("session_store_max_age_days: soon\n")
    assert on.draft.views[DAYS].problem
    on.draft.give(DAYS, "90")
    assert on.draft.changes()[0].value == 90


def test_fifteen_and_fifteen_point_nought_are_the_same_number(on) -> None:
    on.says("agent:\n  restart_drain_timeout: 15.0\n")
    on.draft.give("agent.restart_drain_timeout", "15")
    assert not on.draft.edits


def test_what_is_filled_in_while_it_is_saved_is_still_to_be_saved(on) -> None:
    on.draft.give(DAYS, "45")
    saving = dict(on.draft.edits)
    on.draft.give(DAYS, "46")
    on.draft.saved(saving)
    on.says("session_store_max_age_days: 45\n")
    assert on.draft.edits[DAYS].value == 46
    assert not on.draft.faulty
    on.draft.saved(dict(on.draft.edits))
    assert not on.draft.edits
