"""The files and names that the documents for developers mention exist."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
MAPS = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "resources/docs/recipes.md",
    "resources/docs/glossary.md",
)
DOCUMENTS = (
    *MAPS,
    "README.md",
    *(
        file.relative_to(CHECKOUT).as_posix()
        for file in sorted((CHECKOUT / "resources/docs/decisions").glob("*.md"))
    ),
)
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]*\w\.(?:py|toml)")
NAME = re.compile(r"_?[A-Z]\w*[a-z]\w*[A-Z]\w*|_?[A-Z]+_[A-Z_]+|_?[a-z]+(?:_[a-z]+)+")
OF_USERS = {"handler.py", "hermes_state.py"}
"""Files that users, plugins or other programs bring."""


@functools.cache
def files() -> frozenset[str]:
    places = [CHECKOUT / name for name in ("hermes_desktop", "packaging", "tests", "resources")]
    found = [file for place in places for file in place.rglob("*") if file.is_file()]
    found += [file for file in CHECKOUT.iterdir() if file.is_file()]
    return frozenset(f"/{file.relative_to(CHECKOUT).as_posix()}" for file in found)


def spans(document: str) -> Iterator[str]:
    yield from CODE.findall((CHECKOUT / document).read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_in_documents_exist(document: str) -> None:
    """A name may be shortened from the left, like ``runner/x.py``."""
    named = {part for span in spans(document) for part in span.split() if FILE.fullmatch(part)}
    missing = [
        name
        for name in named - OF_USERS
        if not any(each.endswith(f"/{name.removeprefix('./')}") for each in files())
    ]

    assert not missing


@pytest.mark.parametrize("document", MAPS)
def test_names_in_the_maps_exist(document: str) -> None:
    """Classes, constants and functions in backquotes stand in the code, or in its settings."""
    sources = [file for file in files() if file.endswith((".py", "pyproject.toml"))]
    words = {
        word
        for file in sources
        for word in re.findall(r"\w+", (CHECKOUT / file[1:]).read_text(encoding="utf-8"))
    }
    words |= {Path(file).stem for file in sources}
    named = {
        part
        for span in spans(document)
        for part in re.split(r"[^\w]+", span)
        if NAME.fullmatch(part)
    }

    unknown = sorted(named - words)

    assert not unknown
