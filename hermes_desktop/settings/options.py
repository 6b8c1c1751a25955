"""The declaration of a setting: its name, valid values, location, and when a change takes effect.

A setting that a record holds is declared at its field, by :func:`setting`. Secrets are declared by
:class:`SecretOption`.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal
from urllib.parse import urlsplit

from hermes_desktop.core.errors import UsageError

Kind = Literal["yes_no", "whole_number", "number", "choice", "text", "texts", "address"]
Store = Literal["config", "desktop", "system"]

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_NO_LIMIT = math.inf


class Effect(enum.Enum):
    """The time when a changed value takes effect."""

    LIVE = "live"
    RECONNECT = "reconnect"
    RESTART = "restart"
    NEXT_START = "next start"


EFFECT_WORDS: Mapping[Effect, str] = {
    Effect.LIVE: "Takes effect immediately.",
    Effect.RECONNECT: "Takes effect immediately: a running gateway reconnects the platform, "
    "or disconnects it.",
    Effect.RESTART: "Takes effect when the desktop program restarts.",
    Effect.NEXT_START: "Takes effect when the desktop program starts again.",
}


class InvalidValueError(UsageError):
    """A value that is not valid for a setting.

    Attributes:
        key: The setting, so that a window can show the error at the field.
    """

    def __init__(self, key: str, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title, detail, hint)
        self.key = key


@dataclass(frozen=True, slots=True)
class Place:
    """One place in the file where a setting may be defined.

    Attributes:
        path: The keys that lead there.
        owns: How many of them are decisive: if those exist, no later place is searched, even if the
            rest is missing. 0: only the whole path is decisive.
        only_found: Whether a value is changed there, but no new one added.
        hidden_by: Keys; if a value exists there, this place is not searched.
    """

    path: tuple[str, ...]
    owns: int = 0
    only_found: bool = False
    hidden_by: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The path with dots between the keys."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        key: Its name for users and programs: the place where it is defined by default, with dots.
        title: A short label of the field.
        help: What it does, a sentence or two.
        section: The heading under which it is shown.
        default: The value when nothing is set.
        places: Where it may be defined, the first decisive one counts. The first one is the usual.
        minimum: The smallest number.
        maximum: The greatest.
        choices: The valid words, each with its meaning.
        may_be_none: Whether None is a valid value.
        shorthand: Path where a single value in place of a whole group is taken as this setting.
        variables: Variables that define the same setting.
        switched_on_by: Variables whose presence alone sets it to true where the file does not
            define it: all of one group, whatever their values.
        variable_wins: Whether they take precedence over the file; else they only apply where the
            file does not define it.
        consequence: What the user should know before changing it.
        unknown_to_hermes: What ``hermes`` does instead of reading it, as a sentence; "" if it reads
            it.
        store: config.yaml, this program's settings.yaml, or a setting stored by the system.
        platform: The messaging platform to which it applies; "" for none.
        unavailable: Why it has no effect in this version, as a sentence; "" if it has.
        available_with: A variable that makes it available nevertheless; "" for none.
    """

    key: str
    title: str
    help: str
    section: str
    kind: Kind
    default: Any
    effect: Effect = Effect.LIVE
    places: tuple[Place, ...] = ()
    minimum: float = -_NO_LIMIT
    maximum: float = _NO_LIMIT
    choices: Mapping[str, str] | None = None
    may_be_none: bool = False
    shorthand: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    variable_wins: bool = False
    switched_on_by: tuple[tuple[str, ...], ...] = ()
    consequence: str = ""
    unknown_to_hermes: str = ""
    store: Store = "config"
    platform: str = ""
    unavailable: str = ""
    available_with: str = ""

    def all_places(self) -> tuple[Place, ...]:
        """Return its places; the one its key names where none was declared."""
        return self.places or (Place(tuple(self.key.split("."))),)

    def parse(self, text: str) -> Any:
        """Parse a value that the user typed.

        Raises:
            InvalidValueError: It is not valid; the hint says what would be.
        """
        word = text.strip()
        if self.may_be_none and word.lower() in {"", "none", "null"}:
            return None
        if self.kind == "texts":
            return self.check([part for each in word.split(",") if (part := each.strip())])
        if self.kind == "yes_no":
            return self.check(_yes_no(word))
        if self.kind in {"whole_number", "number"}:
            return self.check(_number(word))
        return self.check(word)

    def check(self, value: Any) -> Any:
        """Return the value as it is to be stored.

        Raises:
            InvalidValueError: It is not valid for the setting; the hint says what would be.
        """
        if value is None and self.may_be_none:
            return None
        reason = _CHECKS[self.kind](self, value)
        if reason:
            shown = "" if isinstance(value, str) and not value.strip() else f" {_shown(value)}"
            raise InvalidValueError(
                self.key,
                f"“{self.title}” ({self.key}) cannot be{shown or ' empty'}.",
                reason,
                self.allowed(),
            )
        if isinstance(value, str) and self.kind in {"choice", "address", "text"}:
            return value.strip().lower() if self.kind == "choice" else value.strip()
        return list(value) if self.kind == "texts" else value

    def allowed(self) -> str:
        """Return what may be set, as an instruction."""
        if self.kind == "choice":
            return f"Set one of {', '.join(filter(None, self.choices or {}))}."
        if self.kind == "yes_no":
            return "Set true or false."
        if self.kind == "texts":
            return "Set a list, separated by commas."
        if self.kind == "address":
            return "Set an address such as http://127.0.0.1:11434/v1."
        if self.kind == "text":
            return "Set one line of text."
        what = "a whole number" if self.kind == "whole_number" else "a number"
        return f"Set {what}{_bounds(self.minimum, self.maximum)}."


@dataclass(frozen=True, slots=True)
class SecretOption:
    """One secret.

    Attributes:
        variable: Its name in the environment, the keyring and ``.env``.
        platform: The platform it belongs to; "" for one of the model.
        places: Where config.yaml may hold it; none of them is ever written.
        effect: When a changed value takes effect.
    """

    variable: str
    label: str
    section: str
    platform: str = ""
    places: tuple[Place, ...] = ()
    effect: Effect = Effect.RECONNECT


def setting(key: str, default: Any, *, kind: Kind | None = None, **facts: Any) -> Any:
    """Declare a field of a frozen record as a setting.

    Args:
        key: Its name.
        default: The default of field and setting; None is a valid value, then.
        kind: None: that of the default.
        facts: The other attributes of :class:`Option`.
    """
    option = Option(
        key=key,
        kind=kind or _kind_of(default, facts.get("choices")),
        default=list(default) if isinstance(default, tuple) else default,
        may_be_none=default is None,
        **facts,
    )
    return field(default=default, metadata={_DECLARED: option})


def settings_of(record: type) -> dict[str, Option]:
    """Return the settings that are declared at the fields of a record, by field."""
    return {
        each.name: each.metadata[_DECLARED] for each in fields(record) if _DECLARED in each.metadata
    }


def top_or_inside(key: str, *, group: str = "gateway", owns: int = 0) -> tuple[Place, ...]:
    """Return two places for a setting: at the top of the file, and inside a group.

    Args:
        key: The setting, with dots.
        group: The group.
        owns: As in :class:`Place`, for the place at the top.
    """
    path = tuple(key.split("."))
    return Place(path, owns), Place((group, *path), owns + 1 if owns else 0)


_DECLARED = "setting"


def _kind_of(default: Any, choices: Mapping[str, str] | None) -> Kind:
    if choices is not None:
        return "choice"
    if isinstance(default, bool):
        return "yes_no"
    if isinstance(default, int):
        return "whole_number"
    if isinstance(default, float):
        return "number"
    return "texts" if isinstance(default, tuple) else "text"


def _yes_no(word: str) -> bool | str:
    lower = word.lower()
    if lower in _TRUE:
        return True
    return False if lower in _FALSE else word


def _number(word: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return word


def _bounds(low: float, high: float) -> str:
    if high < _NO_LIMIT:
        return f" from {low:.12g} to {high:.12g}"
    return f" from {low:.12g} on" if low > -_NO_LIMIT else ""


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"“{text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + '…'}”"


_MOST_SHOWN = 40


def _check_yes_no(_option: Option, value: Any) -> str:
    return "" if isinstance(value, bool) else "This is neither yes nor no."


def _check_number(option: Option, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "This is not a number."
    if option.kind == "whole_number" and not isinstance(value, int):
        return "This is not a whole number."
    return "" if option.minimum <= value <= option.maximum else "This is out of range."


def _check_choice(option: Option, value: Any) -> str:
    known = isinstance(value, str) and value.strip().lower() in (option.choices or {})
    return "" if known else "This is not one of the choices."


def _check_text(_option: Option, value: Any) -> str:
    if not isinstance(value, str):
        return "This is not text."
    if not value.strip():
        return "To return to the default, unset it."
    return "" if value.strip().isprintable() else "It contains characters that cannot be shown."


def _check_texts(_option: Option, value: Any) -> str:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        return "This is not a list of texts."
    if not all(each.strip() and each.isprintable() for each in value):
        return "An entry is empty, or contains characters that cannot be shown."
    return ""


def _check_address(option: Option, value: Any) -> str:
    reason = _check_text(option, value)
    if reason:
        return reason
    try:
        parts = urlsplit(value.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "This is not an address."
    if not usable or parts.query or parts.fragment or " " in value.strip():
        return "This is not the address of a server."
    return "An address must not contain a password." if "@" in parts.netloc else ""


_CHECKS = {
    "yes_no": _check_yes_no,
    "whole_number": _check_number,
    "number": _check_number,
    "choice": _check_choice,
    "text": _check_text,
    "texts": _check_texts,
    "address": _check_address,
}
