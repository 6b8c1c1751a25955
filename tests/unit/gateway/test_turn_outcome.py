"""What a turn ended in, in the words of the event."""

from hermes_desktop.agent.types import AgentResult
from hermes_desktop.core.errors import BusyError
from hermes_desktop.gateway.turns.turn_outcome import from_error, from_result, stopped


def test_a_good_end() -> None:
    result = AgentResult(final_response="hi", api_calls=1, written_message_ids=[3, 4])
    outcome = from_result(result, history_len=0)
    assert (outcome.outcome, outcome.reply, outcome.delivery) == ("done", "hi", "hi")
    assert (outcome.last_message_id, outcome.stored) == (4, True)


def test_words_that_fill_in_are_the_reply_only_after_a_good_end() -> None:
    silent = from_result(AgentResult(api_calls=1, written_message_ids=[3]), history_len=0)
    assert silent.reply == silent.delivery != ""
    failed = from_result(
        AgentResult(failed=True, error="no route", written_message_ids=[3]), history_len=0
    )
    assert (failed.outcome, failed.reply, failed.error_title) == ("failed", "", "no route")
    assert "no route" in failed.delivery


def test_a_foreign_result_without_keys_is_understood() -> None:
    outcome = from_result(AgentResult(), history_len=0, rows=[7])
    assert (outcome.outcome, outcome.last_message_id, outcome.stored) == ("done", 7, True)
    assert from_result(AgentResult(failed=True), history_len=0).error_title


def test_errors_and_stops() -> None:
    busy = from_error(BusyError("Busy.", "held", "Wait."))
    assert (busy.error_title, busy.error_detail, busy.error_hint) == ("Busy.", "held", "Wait.")
    assert (busy.delivery, busy.stored, busy.last_message_id) == ("Busy. Wait.", False, None)
    assert from_error(BusyError("Busy."), rows=[2, 5]).last_message_id == 5
    assert "KeyError" in from_error(KeyError("x")).error_detail
    assert (stopped().outcome, stopped().stored, stopped(rows=[1]).stored) == (
        "stopped",
        False,
        True,
    )


def test_notes_stand_behind_a_reply_and_never_alone() -> None:
    notes = ["llama (groq) answers: openai rejected the key."]
    outcome = from_result(AgentResult(final_response="Hi"), history_len=0, notes=notes)
    assert outcome.delivery == "Hi\n\n(llama (groq) answers: openai rejected the key.)"
    assert outcome.reply == "Hi"
    stopped = AgentResult(final_response="", interrupted=True, api_calls=1)
    assert from_result(stopped, history_len=0, notes=notes).delivery == ""
