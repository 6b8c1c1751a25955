"""The parser of search queries, and their translation for each index.

A term is one word or a phrase in quotation marks; ``foo*`` matches every word with that prefix.
AND, OR and NOT in capitals combine terms; adjacent terms must all be found. Everything else that
the full-text engine would take for syntax is plain text here, so that no query is an error.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, TypeAlias

from hermes_desktop.state.records.content_codec import clean_text

MAX_CHARS = 2_048
MAX_TERMS = 60
"""SQLite and its full-text engine limit how deeply conditions are nested."""

TRIGRAM = 3
"""The trigram index cannot be queried for shorter texts."""

_OPERATORS = ("OR", "AND", "NOT")
_PIECE = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')
_SYNTAX = re.compile(r'[+{}():^"]')
_CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0002a6df]")


@dataclass(frozen=True, slots=True)
class Term:
    """One word or phrase.

    Attributes:
        text: As typed, without quotation marks and star.
        prefix: Whether longer words that begin with it match.
    """

    text: str
    prefix: bool = False

    @property
    def has_words(self) -> bool:
        """Whether a word index can contain it: it has a letter or a digit."""
        return any(character.isalnum() for character in self.text)

    @property
    def cjk_count(self) -> int:
        """Number of characters of scripts that do not separate words."""
        return len(_CJK.findall(self.text))

    @property
    def escaped(self) -> str:
        """The text as it appears in stored JSON, where every non-ASCII character is escaped."""
        return json.dumps(self.text)[1:-1]


@dataclass(frozen=True, slots=True)
class Combined:
    """Parts of which all must be found, or one, or only the first."""

    how: Literal["AND", "OR", "NOT"]
    parts: tuple["Node", ...]


Node: TypeAlias = Term | Combined


def parse(text: str, *, prefix: bool = False) -> Node | None:
    """Parse a query.

    Args:
        text: As typed; what is beyond 2,048 characters or 60 terms is ignored.
        prefix: Take every bare word of two characters and more as a prefix.

    Returns:
        None when there is nothing to search for.
    """
    pieces = _pieces(clean_text(text)[:MAX_CHARS], prefix=prefix)
    return _combine(_tidy(list(_first_terms(pieces))), _OPERATORS)


def is_shortened(text: str) -> bool:
    """Return whether a part of the text is too much for a query and is ignored."""
    clean = clean_text(text)
    found = (each for each in _pieces(clean[:MAX_CHARS], prefix=False) if isinstance(each, Term))
    return bool(clean[MAX_CHARS:].strip()) or sum(1 for _ in found) > MAX_TERMS


def _first_terms(pieces: Iterator[Term | str]) -> Iterator[Term | str]:
    count = 0
    for piece in pieces:
        count += isinstance(piece, Term)
        if count > MAX_TERMS:
            return
        yield piece


def _pieces(text: str, *, prefix: bool) -> Iterator[Term | str]:
    for match in _PIECE.finditer(text):
        phrase, star, bare = match.groups()
        if phrase is not None:
            if phrase.strip():
                yield Term(" ".join(phrase.split()), prefix=bool(star))
        elif bare in _OPERATORS:
            yield bare
        else:
            yield from _words(bare, prefix=prefix)


def _words(bare: str, *, prefix: bool) -> Iterator[Term]:
    for word in _SYNTAX.sub(" ", bare).split():
        kept = word.lstrip("*")
        body = kept.rstrip("*")
        if body:
            # Half of all words begin with one given letter; one letter is a prefix only with a
            # star.
            yield Term(body, prefix=body != kept or (prefix and len(body) > 1))


def _tidy(items: list[Term | str]) -> list[Term | str]:
    """Remove operators without terms on both sides; of several in a row keep the last one."""
    kept: list[Term | str] = []
    for item in items:
        if isinstance(item, str):
            if not kept:
                continue
            if isinstance(kept[-1], str):
                kept.pop()
        kept.append(item)
    if kept and isinstance(kept[-1], str):
        kept.pop()
    return kept


def _combine(items: Sequence[Term | str], operators: Sequence[str]) -> Node | None:
    """Split at the weakest operator first; adjacent terms bind strongest."""
    if not items:
        return None
    if not operators:
        return joined("AND", [item for item in items if isinstance(item, Term)])
    groups: list[list[Term | str]] = [[]]
    for item in items:
        if item == operators[0]:
            groups.append([])
        else:
            groups[-1].append(item)
    parts = [part for group in groups if (part := _combine(group, operators[1:])) is not None]
    how: Literal["AND", "OR", "NOT"] = operators[0]  # type: ignore[assignment]
    return joined(how, parts)


def joined(how: Literal["AND", "OR", "NOT"], parts: Sequence[Node]) -> Node | None:
    """Combine parts; a single part is returned unchanged, none gives None."""
    return Combined(how, tuple(parts)) if len(parts) > 1 else (parts[0] if parts else None)


def terms(node: Node | None) -> list[Term]:
    """Return all terms of a query, also those that must not be found."""
    if node is None:
        return []
    return (
        [node] if isinstance(node, Term) else [each for part in node.parts for each in terms(part)]
    )


def wanted(node: Node | None) -> list[Term]:
    """Return the terms that a hit may contain."""
    if node is None or isinstance(node, Term):
        return [] if node is None else [node]
    parts = node.parts[:1] if node.how == "NOT" else node.parts
    return [each for part in parts for each in wanted(part)]


def indexable_terms(node: Node | None) -> Node | None:
    """Return the query without terms that have no letter or digit, which no word index contains."""
    if node is None or isinstance(node, Term):
        return node if node is not None and node.has_words else None
    parts = [indexable_terms(part) for part in node.parts]
    if node.how == "NOT" and parts[0] is None:
        return None
    return joined(node.how, [part for part in parts if part is not None])


Way: TypeAlias = Literal["words", "trigram", "scan"]


def search_method(node: Node) -> Way:
    """Return which index can answer: words, trigrams, or none, so that rows are scanned."""
    found = terms(node)
    cjk = [term for term in found if term.cjk_count]
    if cjk:
        long_enough = all(term.cjk_count >= TRIGRAM for term in cjk)
        return "trigram" if long_enough and all(len(t.text) >= TRIGRAM for t in found) else "scan"
    return "words" if indexable_terms(node) is not None else "scan"


def match_expressions(node: Node, way: Way) -> list[tuple[Way, str]]:
    """Return the query as expressions of the full-text engine, with the index for each.

    Text in structured content is stored as JSON that escapes every non-ASCII character. The trigram
    index ends at the NUL with which such content begins, the word index does not.
    """
    if way == "words":
        node = indexable_terms(node) or node
        return [("words", _expression(node, _plain_or_escaped))]
    return [
        ("trigram", _expression(node, _plain_or_escaped)),
        ("words", _expression(node, _stored)),
    ]


def _expression(node: Node, quoted: Callable[[Term], str]) -> str:
    if isinstance(node, Term):
        return quoted(node)
    parts = [f"({_expression(part, quoted)})" for part in node.parts]
    return reduce(lambda left, right: f"({left} {node.how} {right})", parts)


def _plain_or_escaped(term: Term) -> str:
    plain = _quoted(term.text, prefix=term.prefix)
    return plain if term.text.isascii() else f"{plain} OR {_stored(term)}"


def _stored(term: Term) -> str:
    return _quoted(term.escaped, prefix=term.prefix)


def _quoted(text: str, *, prefix: bool) -> str:
    plain = text.replace("\0", " ").replace('"', '""')
    return f'"{plain}"{"*" if prefix else ""}'


def row_condition(node: Node, alias: str = "m") -> tuple[str, list[str]]:
    """Return the query as a condition on a row of ``messages``, with its values. NULL means no.

    LIKE ignores ASCII case but ends at the NUL with which structured content begins; ``instr``
    reads past it.
    """
    if isinstance(node, Term):
        return _term_condition(node, alias)
    conditions, values = [], []  # type: list[str], list[str]
    for part in node.parts:
        condition, more = row_condition(part, alias)
        conditions.append(condition)
        values += more
    if node.how == "NOT":
        left_out = "".join(f" AND NOT coalesce({each}, 0)" for each in conditions[1:])
        return f"({conditions[0]}{left_out})", values
    return f"({f' {node.how} '.join(conditions)})", values


def _term_condition(term: Term, alias: str) -> tuple[str, list[str]]:
    like = "LIKE ? ESCAPE '\\'"
    text, escaped = _pattern(term.text), _pattern(term.escaped)
    # Comparing bytes is faster, and equivalent where there are no letters whose case LIKE would
    # fold.
    folds = any(character.isascii() and character.isalpha() for character in term.text)
    content = f"{alias}.content {like}" if folds else f"instr({alias}.content, ?)"
    condition = (
        f"({content} OR ({alias}.content < char(1) AND instr({alias}.content, ?)) "
        f"OR {alias}.tool_name {like} OR {alias}.tool_calls {like})"
    )
    return condition, [text if folds else term.text, term.escaped, text, escaped]


def _pattern(text: str) -> str:
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
