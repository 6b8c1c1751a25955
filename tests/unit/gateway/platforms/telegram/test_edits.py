"""Messages that were changed after they had been taken."""

from dataclasses import replace

from hermes_desktop.gateway.platforms.telegram.intake import EditHistory
from hermes_desktop.gateway.platforms.telegram.records import Incoming

SAID = Incoming(1, "message", chat_id="42", message_id="5", user_id="42", text="one [two]")
CHANGED = replace(SAID, update_id=2, kind="edited", text="three", edited="9")


def test_a_change_is_a_message_of_its_own() -> None:
    edits = EditHistory()
    assert edits.changed(CHANGED) is None  # nothing is known of it
    edits.remember(SAID)
    assert edits.changed(replace(CHANGED, text=SAID.text)) is None
    assert edits.changed(replace(CHANGED, text="")) is None
    found = edits.changed(CHANGED)
    assert found is not None
    assert (found.kind, found.message_id) == ("message", "5-9")
    assert found.text == "[I have changed my message “one (two)”. Now it says:]\nthree"
    assert edits.changed(CHANGED) is None  # told a second time
    again = edits.changed(replace(CHANGED, text="four", edited="10"))
    assert again is not None
    assert "“three”" in again.text


def test_words_that_are_added_to_a_picture_are_heard() -> None:
    edits = EditHistory()
    edits.remember(replace(SAID, text=""))
    assert edits.changed(replace(CHANGED, text="")) is None
    found = edits.changed(CHANGED)
    assert found is not None
    assert found.text == "[I have added words to what I sent. Now it says:]\nthree"


def test_only_the_latest_are_known_and_long_ones_are_quoted_in_part() -> None:
    edits = EditHistory()
    for number in range(501):
        edits.remember(replace(SAID, message_id=str(number), text="x" * 1000))
    assert edits.changed(replace(CHANGED, message_id="0")) is None
    found = edits.changed(replace(CHANGED, message_id="500"))
    assert found is not None
    assert len(found.text) < 300
