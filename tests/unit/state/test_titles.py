import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state import SessionDB, TitleError

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=150)


@given(ANY_TEXT)
def test_a_sanitised_title_is_one_storable_line_and_stays_as_it_is(text: str) -> None:
    try:
        title = SessionDB.sanitize_title(text)
    except TitleError:
        return
    if title is None:
        return
    title.encode("utf-8")
    assert 0 < len(title) <= 100
    assert title == title.strip()
    assert title.split() == title.split(" ")
    assert SessionDB.sanitize_title(title) == title


@pytest.mark.parametrize(
    ("given_title", "stored"),
    [
        (None, None),
        ("", None),
        (" \t\n", None),
        ("\u200b\ufeff", None),
        ("  Trip \t plan\n", "Trip plan"),
        ("a\x00b\x7fc", "abc"),
        ("👩\u200d💻", "👩💻"),
        ("x\ud800", "x�"),
        ("y" * 100, "y" * 100),
    ],
)
def test_sanitised(given_title: str | None, stored: str | None) -> None:
    assert SessionDB.sanitize_title(given_title) == stored


def test_too_long_is_an_error_of_both_kinds() -> None:
    with pytest.raises(TitleError, match="Title too long") as caught:
        SessionDB.sanitize_title("z" * 101)
    assert isinstance(caught.value, HermesError)
    assert isinstance(caught.value, ValueError)


def test_set_and_take_away(db: SessionDB) -> None:
    db.create_session("a", "cli")
    assert db.set_session_title("a", " My  title ")
    assert db.get_session_title("a") == "My title"
    assert (db.get_session_by_title("My title") or {})["id"] == "a"
    assert db.set_session_title("a", "  ")
    assert db.get_session_title("a") is None
    assert not db.set_session_title("nobody", "x")
    assert db.get_session_by_title("x") is None


def test_a_taken_title_is_refused_and_stays(db: SessionDB) -> None:
    for name in ("a", "b"):
        db.create_session(name, "cli")
    db.set_session_title("a", "Same")
    db.set_session_title("b", "Other")
    with pytest.raises(TitleError, match="already in use by session a"):
        db.set_session_title("b", "Same")
    assert db.get_session_title("b") == "Other"
    assert db.set_session_title("a", "Same")
    assert db.set_session_title("b", "same")


def test_a_title_moves_along_its_own_chain(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.set_session_title("a", "Same")
    db.end_session("a", "compression")
    db.create_session("b", "cli", parent_session_id="a")
    db.end_session("b", "compression")
    db.create_session("c", "cli", parent_session_id="b")
    assert db.set_session_title("c", "Same")
    assert db.get_session_title("a") is None


def test_a_branch_does_not_take_its_origins_title(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.set_session_title("a", "Same")
    db.end_session("a", "compression")
    db.create_session("b", "cli", parent_session_id="a", model_config={"_branched_from": "a"})
    with pytest.raises(TitleError):
        db.set_session_title("b", "Same")


def test_numbering(db: SessionDB) -> None:
    assert db.get_next_title_in_lineage("Fresh") == "Fresh"
    for name, title in (("a", "Trip"), ("b", "Trip #2"), ("c", "100% _x\\"), ("d", "Trip #x")):
        db.create_session(name, "cli")
        db.set_session_title(name, title)
    assert db.get_next_title_in_lineage("Trip") == "Trip #3"
    assert db.get_next_title_in_lineage("Trip #7") == "Trip #3"
    assert db.get_next_title_in_lineage("100% _x\\") == "100% _x\\ #2"


def test_a_title_means_its_newest_number(db: SessionDB) -> None:
    for name, title in (("a", "Trip"), ("b", "Trip #2"), ("c", "Other")):
        db.create_session(name, "cli")
        db.set_session_title(name, title)
    assert db.resolve_session_by_title("Trip") == "b"
    assert db.resolve_session_by_title("Other") == "c"
    assert db.resolve_session_by_title("other") is None
    assert db.resolve_session_by_title("") is None
    assert db.resolve_session_by_title("Tri_") is None
