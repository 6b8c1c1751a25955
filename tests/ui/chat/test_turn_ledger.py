"""What is going on in sessions that nobody looks at."""

from hermes_desktop.core.events import ToolStarted, TurnDelta, TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.core.user_requests import RequestPending, RequestResolved, UserAnswer
from hermes_desktop.ui.chat.turn_ledger import TurnLedger
from tests.fakes.user_requests import approval_request


def test_a_turn_from_its_queue_to_its_end() -> None:
    ledger = TurnLedger()
    ledger.queued(TurnQueued("t", "k", "s", "Hi"), 1.0)
    assert ledger.busy({"s"}) == "queued"
    turn = ledger.started(TurnStarted("t", "k", "s", "Hi"), 2.0)
    assert (ledger.busy({"s"}), turn.started_at) == ("running", 2.0)
    for number in range(300):
        ledger.delta(TurnDelta("t", "s", f"{number} ", "text" if number else "reasoning"))
    assert len(turn.pieces) < 100
    assert "".join(piece.text for piece in turn.pieces).split() == [str(n) for n in range(300)]
    ledger.finished(TurnFinished("t", "k", "s", 5, "done"))
    assert ledger.of({"s"}) == []
    assert ledger.busy({"s"}) == ""
    assert ledger.seen == {"s"}


def test_a_failure_stays_until_its_message_is_sent_again() -> None:
    ledger = TurnLedger()
    ledger.started(TurnStarted("t", "k", "s", "Hi"), 1.0)
    ledger.finished(TurnFinished("t", "k", "s", 5, "failed", error_title="No."))
    ledger.started(TurnStarted("u", "k", "s", "Something else"), 2.0)
    assert [turn.turn_id for turn in ledger.of({"s"})] == ["t", "u"]
    ledger.finished(TurnFinished("u", "k", "s", 7, "done"))
    assert [turn.turn_id for turn in ledger.of({"s"})] == ["t"]
    ledger.retry("t")
    assert [turn.turn_id for turn in ledger.of({"s"})] == ["t"], "it is not sent yet"
    ledger.started(TurnStarted("v", "k", "s", "Hi"), 3.0)
    assert [turn.turn_id for turn in ledger.of({"s"})] == ["v"]


def test_a_message_that_was_not_stored_leaves_with_the_next_one() -> None:
    ledger = TurnLedger()
    ledger.started(TurnStarted("t", "k", "s", "Hi"), 1.0)
    ledger.finished(TurnFinished("t", "k", "s", None, "failed", stored=False))
    ledger.started(TurnStarted("u", "k", "s", "Hi"), 2.0)
    assert [turn.turn_id for turn in ledger.of({"s"})] == ["u"]


def test_a_turn_that_ended_in_another_session_moves_there() -> None:
    ledger = TurnLedger()
    ledger.started(TurnStarted("t", "k", "old", "Hi"), 1.0)
    ledger.finished(TurnFinished("t", "k", "new", 5, "failed"))
    assert ledger.of({"old"}) == []
    assert len(ledger.of({"new"})) == 1


def test_unknown_turns_are_ignored() -> None:
    ledger = TurnLedger()
    assert ledger.delta(TurnDelta("x", "s", "text")) is None
    assert ledger.finished(TurnFinished("x", "k", "s", None, "done")) is None
    ledger.forget("x")


def test_a_call_counts_from_the_moment_it_was_allowed() -> None:
    ledger = TurnLedger()
    turn = ledger.started(TurnStarted("t", "k", "s", "Hi"), 1.0)
    request = approval_request(
        "r", "k", "s", "", "desktop", "terminal", "rm", "/", (), (), 0.0, 60.0
    )
    ledger.follow_request(RequestPending(request), 2.0)
    ledger.tool(ToolStarted("t", "s", "c", "terminal"), 2.0)
    assert turn.calls[0].asked
    assert ledger.busy({"s"}) == "asking"
    ledger.follow_request(RequestResolved(request, UserAnswer("once", "answered")), 50.0)
    assert (turn.calls[0].asked, turn.calls[0].started_at) == (False, 50.0)
    assert ledger.busy({"s"}) == "running"


def test_the_answer_to_one_of_two_requests_leaves_the_other_waiting() -> None:
    ledger = TurnLedger()
    ledger.started(TurnStarted("t", "k", "s", "Hi"), 1.0)
    requests = [
        approval_request(number, "k", "s", "", "", "read_file", "/a", "/", (), (), 0.0, 60.0)
        for number in ("1", "2")
    ]
    for request in requests:
        ledger.follow_request(RequestPending(request), 2.0)
    ledger.follow_request(RequestResolved(requests[0], UserAnswer("once", "answered")), 3.0)
    assert ledger.busy({"s"}) == "asking"
