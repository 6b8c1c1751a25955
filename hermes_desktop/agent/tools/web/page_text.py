"""The text of a web page, extracted in linear time, whatever the page contains.

``html.parser`` scans the rest of a page again for each unterminated tag, and needs hours for a
page of two megabytes crafted for that.
"""

import html
import re
from collections.abc import Iterator

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe"})
_RAW = frozenset({"script", "style"})
_BREAKS = frozenset(
    {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article",
     "pre", "blockquote", "table", "ul", "ol", "header", "footer", "main"}
)  # fmt: skip
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_STOPS = re.compile("[>\"']")
_RAW_END = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in _RAW}
_DEEPEST = 100


def page_text(page: str) -> str:
    """Return the text of a page, title first."""
    gathered = _VisibleText()
    for kind, what in _pieces(page):
        if kind == "text":
            gathered.text(what)
        elif kind == "open":
            gathered.opened(what)
        else:
            gathered.closed(what)
    lines = (" ".join(line.split()) for line in "".join(gathered.pieces).split("\n"))
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    title = " ".join("".join(gathered.title).split())
    return f"# {title}\n\n{body}" if title else body


class _VisibleText:
    """The visible text of a page."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.title: list[str] = []
        self._hidden: list[str] = []
        self._in_title = False

    def text(self, raw: str) -> None:
        if not self._in_title and self._hidden:
            return
        try:
            words = html.unescape(raw)
        except ValueError:  # a number of a character with thousands of digits
            words = raw
        (self.title if self._in_title else self.pieces).append(words)

    def opened(self, tag: str) -> None:
        self._in_title = tag == "title" and "svg" not in self._hidden
        if tag in _HIDDEN:
            if len(self._hidden) < _DEEPEST:
                self._hidden.append(tag)
        elif tag == "body":
            self._hidden.clear()
        elif tag in _BREAKS:
            self.pieces.append("\n- " if tag == "li" else "\n")

    def closed(self, tag: str) -> None:
        self._in_title = False
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BREAKS:
            self.pieces.append("\n")


def _pieces(page: str) -> Iterator[tuple[str, str]]:
    """Yield texts, and names of opening and closing tags. Each search starts at the last end."""
    at = 0
    while (begin := page.find("<", at)) >= 0:
        if begin > at:
            yield "text", page[at:begin]
        named = _NAME.match(page, begin, begin + 64)
        if named is None:
            if page[begin + 1 : begin + 2] in {"!", "?", "/"}:
                at = _after_remark(page, begin)
            else:
                yield "text", "<"
                at = begin + 1
            continue
        name, closes = named[1].lower(), page[begin + 1] == "/"
        at = _after_tag(page, named.end())
        yield ("close" if closes else "open"), name
        if name in _RAW and not closes:
            end = _RAW_END[name].search(page, at)
            at = len(page) if end is None else end.start()
    yield "text", page[at:]


def _after_remark(page: str, begin: int) -> int:
    is_comment = page.startswith("<!--", begin)
    # "<!-->" is a complete one, too.
    end = page.find("-->", begin + 2) if is_comment else page.find(">", begin)
    if end < 0:
        return len(page)
    return end + 3 if is_comment else end + 1


def _after_tag(page: str, at: int) -> int:
    """Return where a tag ends: ``>`` in a value does not count, unless its quote never ends."""
    while (stop := _STOPS.search(page, at)) is not None:
        at = stop.end()
        if stop[0] == ">":
            return at
        end = page.find(stop[0], at)
        at = end + 1 if end >= 0 else at
    return len(page)
