import pytest

from hermes_desktop.state import SessionDB


def chain(db: SessionDB, *names: str, source: str = "cli") -> None:
    """Sessions that continue one another; the last one stays open."""
    parent = None
    for name in names:
        if parent:
            db.end_session(parent, "compression")
        db.create_session(name, source, parent_session_id=parent)
        db.append_message(name, "user", f"in {name}")
        parent = name


def test_tip_root_and_lineage_of_a_chain(db: SessionDB) -> None:
    chain(db, "a", "b", "c")
    for name in "abc":
        assert db.get_compression_lineage(name) == ["a", "b", "c"]
        assert db.get_compression_tip(name) == "c"
        assert db.get_conversation_root(name) == "a"
        assert db.resolve_resume_session_id(name) == "c"


def test_an_unknown_session(db: SessionDB) -> None:
    assert db.get_compression_lineage("x") == []
    assert db.get_compression_tip("x") == "x"
    assert db.get_conversation_root("x") == "x"
    assert db.resolve_resume_session_id("x") == "x"


@pytest.mark.parametrize("marker", ["_branched_from", "_delegate_from"])
def test_marked_children_do_not_continue(db: SessionDB, marker: str) -> None:
    chain(db, "a", "b")
    db.end_session("b", "compression")
    db.create_session("c", "cli", parent_session_id="b", model_config={marker: "b"})
    db.append_message("c", "user", "x")
    assert db.get_compression_tip("a") == "b"
    assert db.resolve_resume_session_id("a") == "b"
    assert db.get_conversation_root("c") == "a"
    assert db.get_compression_lineage("c") == ["c"]


def test_tools_do_not_continue(db: SessionDB) -> None:
    chain(db, "a")
    db.end_session("a", "compression")
    db.create_session("t", "tool", parent_session_id="a")
    assert db.get_compression_tip("a") == "a"


def test_of_two_continuations_the_compressed_then_the_open_then_the_livelier_wins(
    db: SessionDB,
) -> None:
    chain(db, "a")
    db.end_session("a", "compression")
    for name in ("b", "c"):
        db.create_session(name, "cli", parent_session_id="a")
    db.append_message("b", "user", "x", timestamp=9e9)
    db.append_message("c", "user", "x", timestamp=8e9)
    assert db.get_compression_tip("a") == "b"
    db.end_session("b", "cli_close")
    assert db.get_compression_tip("a") == "c"
    db.reopen_session("b")
    db.end_session("b", "compression")
    assert db.get_compression_tip("a") == "b"


def test_resume_goes_to_the_deepest_child_with_messages(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "x")
    db.create_session("b", "cli", parent_session_id="a")
    db.append_message("b", "user", "x")
    db.create_session("c", "cli", parent_session_id="b")
    assert db.resolve_resume_session_id("a") == "b"


def test_a_cycle_ends(db: SessionDB) -> None:
    chain(db, "a", "b")
    db.end_session("b", "compression")
    db._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET parent_session_id = 'b' WHERE id = 'a'")
    )
    assert db.get_compression_tip("a") == "b"
    assert db.get_conversation_root("a") == "b"
    assert set(db.get_compression_lineage("a")) == {"a", "b"}
    assert db.resolve_resume_session_id("a") in {"a", "b"}
    assert db.list_sessions_rich(order_by_last_active=True) == []
    assert db.summary("a") is not None


def test_a_very_long_chain_ends_after_a_hundred_steps(db: SessionDB) -> None:
    chain(db, *(f"s{number:03d}" for number in range(105)))
    assert db.get_compression_tip("s000") == "s100"
    assert db.get_conversation_root("s104") == "s004"


def test_a_config_that_is_no_json_is_no_mark(db: SessionDB) -> None:
    chain(db, "a", "b")
    db._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET model_config = '_delegate_from {'")
    )
    assert db.get_compression_tip("a") == "b"
    assert len(db.list_summaries()) == 1
