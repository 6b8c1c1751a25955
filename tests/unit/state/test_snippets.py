"""The words around a hit."""

from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.state.search.search_query import Term
from hermes_desktop.state.search.snippets import Marker, fold, snippet_of


def test_hit_is_marked_and_the_rest_cut() -> None:
    text = " ".join(f"w{number}" for number in range(100)) + " Kernel " + "tail " * 100
    found = snippet_of(Marker([Term("kernel")], words=True), [text])
    assert ">>>Kernel<<<" in found.marked()
    assert found.text.startswith("...w88 ")
    assert found.text.endswith("tail...")
    assert len(found.text.split()) == 40


def test_only_whole_words_unless_asked_otherwise() -> None:
    word = Marker([Term("ker")], words=True)
    assert word.first("the kernel") is None
    assert Marker([Term("ker", prefix=True)], words=True).first("the kernel") == 4
    prefix = Marker([Term("ker", prefix=True)], words=True)
    assert snippet_of(prefix, ["the kernel"]).marked() == "the >>>kernel<<<"
    assert Marker([Term("ern")], words=False).first("the kernel") == 5


def test_accents_do_not_matter_and_places_stay() -> None:
    marker = Marker([Term("resume")], words=True)
    assert snippet_of(marker, ["İ mon Résumé"]).marked() == "İ mon >>>Résumé<<<"


def test_phrase_over_marks_between() -> None:
    marker = Marker([Term("my_var name")], words=True)
    assert snippet_of(marker, ["see my-var\n name."]).marked() == "see >>>my-var name<<<."


def test_first_text_with_a_hit_is_shown() -> None:
    marker = Marker([Term("grep")], words=True)
    assert snippet_of(marker, ["nothing", "call grep now"]).text == "call grep now"
    assert snippet_of(marker, ["nothing", "at all"]).text == "nothing"
    assert snippet_of(marker, []).text == ""


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(st.text(), st.text(min_size=1))
def test_marks_lie_in_the_text(text: str, term: str) -> None:
    for words in (True, False):
        found = snippet_of(Marker([Term(term)], words=words), [text])
        assert all(0 <= start < end <= len(found.text) for start, end in found.marks)
