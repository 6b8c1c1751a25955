"""Validation of a pasted token before anything is done with it. Pure functions.

No value is guessed: what surrounds a token is removed and reported, and what cannot be a token is
refused with the reason. No message repeats what was pasted.
"""

import re
from dataclasses import dataclass, field

from hermes_desktop.core.errors import UsageError
from hermes_desktop.core.text.odd_characters import first_invalid_character
from hermes_desktop.services.secrets.platform_facts import (
    KNOWN_SHAPES,
    PLATFORMS,
    KnownShape,
    SecretFacts,
)
from hermes_desktop.services.secrets.secret_checks import checked_name, checked_value, is_key

LONGEST = 4096
"""The maximum length of a token in characters; some services issue long ones."""

_QUOTES = (
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("”", "”"),
    ("„", "“"),
    ("‘", "’"),
    ("«", "»"),
)


@dataclass(frozen=True, slots=True)
class PastedSecret:
    """The result of the validation.

    Attributes:
        value: The secret; "" where there is none, or none that can be stored.
        problem: Why it cannot be stored, as a sentence or two; "" when it can.
        note: What was removed from it, or what is unusual, as a sentence.
        belongs_to: The variable that it seems to be meant for, where that is another.
    """

    value: str = field(default="", repr=False)
    problem: str = ""
    note: str = ""
    belongs_to: str = ""


def validate_pasted(text: str, facts: SecretFacts) -> PastedSecret:
    """Validate the text that the user typed or pasted for one secret.

    Args:
        text: The text of the input field.
        facts: What is expected there.
    """
    value, notes = _bare(text, facts.variable)
    if not value:
        wrong = "It contains only spaces." if text else ""
        return PastedSecret(problem=wrong)
    problem = _impossible(value, facts)
    if problem:
        return PastedSecret(problem=problem)
    if facts.kind == "token" and not (facts.has_shape and facts.shape.fullmatch(value)):
        other = recognised(value)
        if other is not None and other.variable != facts.variable:
            words = f"This looks like {other.what}; {_wanted(facts)} is needed here."
            return PastedSecret(problem=words, belongs_to=other.variable)
        if facts.has_shape:
            notes.append(f"This looks unusual. The usual form is {facts.looks}.")
    return PastedSecret(value, note=" ".join(notes))


def validate_argument(name: str, text: str) -> PastedSecret:
    """Validate a secret given on the command line, where no input field shows the result.

    Args:
        name: The variable; one that belongs to no platform may hold any single line.
        text: The given text.

    Raises:
        UsageError: The text cannot be the secret of that name.
    """
    name = checked_name(name)
    facts = next(
        (each for platform in PLATFORMS.values() for each in platform.secrets
         if each.variable == name),
        None,
    )  # fmt: skip
    if facts is None:
        if not is_key(name):  # a password may contain quotes
            return PastedSecret(checked_value(text))
        value, notes = _bare(text, name)
        return PastedSecret(checked_value(value, name), note=" ".join(notes))
    found = validate_pasted(text, facts)
    if found.value:
        return found
    hint = f"Enter only the {facts.label[:1].lower()}{facts.label[1:]}, on one line."
    if found.belongs_to:
        hint = f"To store it, use `hermes-desktop secrets set {found.belongs_to}`."
    raise UsageError("This is not a valid secret.", found.problem or "It is empty.", hint)


def recognised(value: str) -> KnownShape | None:
    """Return the kind of secret that a value looks like; None if the format does not tell."""
    return next((shape for shape in KNOWN_SHAPES if shape.pattern.fullmatch(value)), None)


def _bare(text: str, variable: str) -> tuple[str, list[str]]:
    """Return the value without the rest of a copied line, and notes on what was removed."""
    notes: list[str] = []
    value = text.strip()
    if value != text and value:
        broken = "\n" in text.replace("\r", "\n").replace(value, "")
        what = "A line break" if broken else "A space"
        notes.append(f"{what} around it was removed.")
    line = re.fullmatch(rf"(?:export\s+)?{re.escape(variable)}\s*=\s*(?P<value>\S.*)", value)
    if line is not None:
        value = line["value"]
        notes = [f"Only the text after “{variable}=” was used."]
    bearer = re.fullmatch(r"(?:authorization:\s*)?bearer\s+(?P<value>\S.*)", value, re.IGNORECASE)
    if bearer is not None:
        value = bearer["value"]
        notes.append("“Bearer” in front of it was removed.")
    for begin, end in _QUOTES:
        if len(value) > 1 and value.startswith(begin) and value.endswith(end):
            value = value[1:-1].strip()
            notes.append("The quotation marks around it were removed.")
            break
    return value, notes


_STAND_IN = re.compile(r"[•●*·.]+|<?your[_ -].*>?|changeme|x{6,}", re.IGNORECASE)


def _impossible(value: str, facts: SecretFacts) -> str:
    """Return why the value cannot be the secret; "" when it can."""
    name, one = facts.label[:1].lower() + facts.label[1:], _article(facts.label)
    lines = len(value.splitlines())
    token = facts.kind == "token"
    odd = first_invalid_character(value.replace(" ", "_"))
    unseen = f"It contains invisible characters ({odd}). Copy it again."
    only = f"Copy only the {name}."
    reasons = (
        (lines > 1, f"This has {lines} lines; {one} has one. {only}"),
        (len(value) > LONGEST, f"This has {len(value):,} characters; {one} is much shorter."),
        (not value.isprintable(), unseen),
        (token and " " in value, f"It contains spaces; {one} has none. {only}"),
        (
            _STAND_IN.fullmatch(value),
            f"This is a placeholder for the {name}, not the {name} itself.",
        ),
        (
            token and not value.isascii(),
            f"It contains characters that no token has ({odd}). Copy it again.",
        ),
    )
    return next((words for wrong, words in reasons if wrong), "")


def _wanted(facts: SecretFacts) -> str:
    known = next((each.what for each in KNOWN_SHAPES if each.variable == facts.variable), "")
    return known or _article(facts.label)


def _article(label: str) -> str:
    words = label[:1].lower() + label[1:]
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
