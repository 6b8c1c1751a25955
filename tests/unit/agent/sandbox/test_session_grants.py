"""What was granted to conversations: for one command, for a session, and no longer."""

from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Access, Grant
from hermes_desktop.agent.sandbox.session_grants import SessionGrants, widened

HOST = Access("host", "example.org")
OTHER = Access("host", "example.net")


def test_once_is_for_the_next_command_of_that_turn_only() -> None:
    grants, turn, later = SessionGrants(), object(), object()
    grants.allow("s", HOST, once_in=turn)
    grants.allow("s", OTHER, once_in=turn)

    assert grants.of("s") == frozenset()  # what is no command of the assistant gets nothing
    assert grants.take("s", turn) == {HOST, OTHER}
    assert grants.take("s", turn) == frozenset()
    grants.allow("s", HOST, once_in=turn)
    assert grants.take("s", later) == frozenset()
    assert grants.take("s", turn) == frozenset()
    grants.allow("s", HOST, once_in=turn)
    grants.allow("s", OTHER, once_in=later)
    assert grants.take("s", later) == {OTHER}


def test_a_session_keeps_what_was_granted_to_it_and_no_other_has_it() -> None:
    grants, turn = SessionGrants(), object()
    grants.allow("s", HOST)
    grants.allow("t", OTHER, once_in=turn)
    grants.take("s", turn)

    assert grants.of("s") == {HOST}
    assert grants.of("t") == grants.of("u") == frozenset()
    assert grants.take("u", turn) == frozenset()
    assert grants.take("t", turn) == {OTHER}


def test_a_conversation_that_continues_in_another_session_keeps_its_grants() -> None:
    lines = {"a": ["a"]}
    grants = SessionGrants(lambda session_id: lines.get(session_id, []))
    grants.allow("a", HOST)
    lines |= {"a": ["a", "b"], "b": ["a", "b"]}

    assert grants.of("b") == {HOST}


def test_the_end_of_a_session_ends_its_grants_even_after_it_moved() -> None:
    grants = SessionGrants(lambda session_id: ["a", "b"] if session_id in "ab" else [])
    grants.end("c")  # nothing is granted yet
    grants.allow("a", HOST)
    grants.allow("c", HOST)
    grants.end("b")

    assert grants.of("a") == frozenset()
    assert grants.of("c") == {HOST}
    grants.allow("b", OTHER)  # it was opened again
    assert grants.of("a") == {OTHER}


def test_memory_is_bounded_and_the_oldest_go_first() -> None:
    grants = SessionGrants()
    for number in range(300):
        grants.allow(str(number), HOST)

    assert grants.of("0") == frozenset()
    assert grants.of("299") == {HOST}


def test_a_path_that_leads_elsewhere_now_is_not_granted(tmp_path: Path) -> None:
    data, keys = tmp_path / "data", tmp_path / "keys"
    data.mkdir()
    keys.mkdir()
    access = Access("path", str(data), write=True)
    grant = Grant(tmp_path / "work")

    assert widened(grant, [access, HOST]).write == {data}
    assert widened(grant, [access, HOST]).hosts == {"example.org"}
    data.rmdir()
    data.symlink_to(keys)
    assert widened(grant, [access]).write == frozenset()
