"""Matching of a filter text against the titles and ids of a list line's sessions."""

import re
from collections.abc import Iterable, Sequence

from hermes_desktop.state.sessions.chains import Segment

_TITLE_MARKS = re.compile(r"[-_. ]")
_MARKS = re.compile(r"[\W_]+")


def haystack(members: Sequence[Segment]) -> tuple[str, str]:
    """Return the text that is searched: titles and ids; titles without punctuation."""
    titles = [member.title.casefold() for member in members if member.title]
    ids = [member.id.casefold() for member in members]
    return "\0".join((*titles, *ids)), "\0".join(_TITLE_MARKS.sub("", title) for title in titles)


class Needle:
    """A text to find; ``tripplan`` finds “Trip plan”."""

    def __init__(self, text: str) -> None:
        self._text = text.strip().casefold()
        self._bare = _MARKS.sub("", self._text)
        texts = (self._text, self._bare) if self._bare else (self._text,)
        self._encoded = [each.encode("utf-8", "surrogatepass") for each in texts]

    def may_be_in(self, raw: bytes) -> bool:
        """Return False if UTF-8 that contains the texts of many lines shows that none matches."""
        return any(each in raw for each in self._encoded)

    def found_in(self, hay: tuple[str, str]) -> bool:
        """Return whether the text is found."""
        return self._text in hay[0] or (bool(self._bare) and self._bare in hay[1])


def nearest(needle: str, members: Iterable[Segment]) -> int:
    """Return how well the best id matches: 0 equals the text, 1 begins with it, 2 contains it.

    Args:
        needle: The text, casefolded.
        members: The sessions of a line; at least one.
    """
    ids = [member.id.casefold() for member in members]
    if needle in ids:
        return 0
    return 1 if any(each.startswith(needle) for each in ids) else 2
