"""Texts about a setting for its field: label, value and origin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.settings.options import EFFECT_WORDS
from hermes_desktop.ui.words.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.settings.options import Option
    from hermes_desktop.ui.settings.saving.draft import Edit

_UNIT = re.compile(r"^(?P<what>.+?) \((?P<unit>[a-z ]{1,14})\)$")
_FIRST_SENTENCE = re.compile(r"(?P<first>.+?[.!?])(?: (?P<rest>(?=[A-Z“]).+))?")
_MOST_LISTED = 3
_KINDS = {
    "dm": "Direct messages",
    "group": "Groups",
    "channel": "Channels",
    "thread": "Threads",
}


class LabelParts(NamedTuple):
    """The parts of a label such as ``Telegram: inactive for (minutes)``."""

    who: str
    what: str
    unit: str


def label_parts(option: Option) -> LabelParts:
    """Return subject, name and unit of the label; subject and unit may be empty."""
    who, colon, what = option.title.partition(": ")
    if not colon:
        who, what = "", option.title
    if option.platform and who:
        who = source_name(option.platform)
    who = _rule_of(option.key) or who
    found = _UNIT.match(what) if option.kind in {"number", "whole_number"} else None
    unit = found["unit"] if found else ""
    what = found["what"] if found else what
    return LabelParts(capitalized(who), capitalized(what), unit)


def given_of(option: Option, value: Any) -> Any:
    """Return a value in the type that a field of its kind works with."""
    if option.kind == "yes_no":
        return bool(value)
    if option.kind == "texts":
        return [str(each) for each in value or ()]
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def value_words(option: Option, value: Any) -> str:
    """Return a value as text for a sentence."""
    if option.kind == "yes_no":
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        listed = ", ".join(map(str, value[:_MOST_LISTED]))
        more = len(value) - _MOST_LISTED
        nothing = "nobody" if option.key.endswith(".allow_from") else "none"
        return f"{listed} and {more} more" if more > 0 else listed or nothing
    if value is None or value == "":
        return unset_words(option)
    if option.kind == "choice":
        return (option.choices or {}).get(str(value), str(value))
    unit = label_parts(option).unit
    text = given_of(option, value)
    return f"{text} {unit}" if unit else text


def unset_words(option: Option) -> str:
    """Return the text for a setting without a value."""
    follows = option.kind == "choice" and option.platform
    return "as on all platforms" if follows else "not set"


def help_words(option: Option, said: Collection[str] = ()) -> str:
    """Return the description of a setting and its consequence, unless that is already shown."""
    consequence = "" if option.consequence in said else option.consequence
    return plain(" ".join(filter(None, (option.help, consequence))))


def help_parts(option: Option, said: Collection[str] = ()) -> tuple[str, str]:
    """Return the first sentence of the description, and the rest, which is shown on request."""
    found = _FIRST_SENTENCE.fullmatch(help_words(option, said))
    return (found["first"], found["rest"] or "") if found else ("", "")


def range_words(option: Option) -> str:
    """Return the allowed range of a number in a few words; "" for no limits."""
    if option.kind not in {"number", "whole_number"}:
        return ""
    return plain(option.allowed())


def lock_reason(view: SettingView) -> str:
    """Return why this setting cannot be changed although the home can; "" if it can."""
    if view.unavailable:
        return view.unavailable
    if view.option.variable_wins and view.source in {"environment", ".env"}:
        where = _variable_place(view)
        return f"{view.place} in {where} overrides this setting. Remove it there first."
    return ""


def origin_words(view: SettingView) -> str:
    """Return the origin of the value; "" for an untouched default."""
    if view.problem:
        line = f", line {view.line}" if view.line else ""
        stored = " ".join(str(view.stored).split())[:40]
        return (
            f"The file contains “{stored}”{line}, which is not valid: {plain(view.problem)} "
            f"Until you correct it, {value_words(view.option, view.value)} is used."
        )
    if view.source == "config.yaml":
        elsewhere = f" ({view.place})" if view.place != view.key else ""
        return f"From config.yaml, line {view.line}{elsewhere}"
    if view.source == "gateway.json":
        return f"From gateway.json ({view.place}); a value set here overrides it"
    if view.source in {"environment", ".env"} and not lock_reason(view):
        return f"From {view.place} in {_variable_place(view)}; a value set here overrides it"
    return {"settings.yaml": "Set here", "system": "Set in the system"}.get(view.source, "")


def twice_words(key: str, lines: Sequence[int]) -> str:
    """Return a note on further lines with the same key, which have no effect; "" without any."""
    if not lines:
        return ""
    where = ", ".join(map(str, lines))
    noun = "line" if len(lines) == 1 else "lines"
    return f"“{key}” is also in {noun} {where}; only the last one is used"


def ignored_words(view: SettingView) -> str:
    """Return a note on values in the file that another key overrules; "" without any."""
    return "\n".join(f"“{key}”, line {line}, is ignored" for key, line in view.ignored)


def effect_words(option: Option) -> str:
    """Return when a change takes effect."""
    return EFFECT_WORDS[option.effect]


def pending_words(view: SettingView, edit: Edit) -> str:
    """Return the effect of an unsaved change."""
    if edit.problem:
        return ""
    option = view.option
    now = value_words(option, view.value)
    effect = effect_words(option).replace("Takes", "takes", 1)
    if edit.unset and edit.given == option.default:
        return f"Reset to default, not saved yet; {effect}"
    return f"Not saved yet, now {now}; {effect}"


def conflict_words(view: SettingView, edit: Edit) -> str:
    """Return a note on a setting that was changed both here and elsewhere."""
    theirs = value_words(view.option, view.value)
    return f"It was changed elsewhere to “{theirs}”. Your change: “{mine_words(view, edit)}”."


def mine_words(view: SettingView, edit: Edit) -> str:
    """Return the value that an edit asks for."""
    if edit.problem:
        return str(edit.given)
    return value_words(view.option, view.option.default if edit.unset else edit.value)


def plain(words: str) -> str:
    """Replace backticks with quotation marks and straight apostrophes with typographic ones."""
    return re.sub(r"(?<=\w)'", "’", re.sub(r"`([^`]*)`", r"“\1”", words))


def _variable_place(view: SettingView) -> str:
    return "the environment" if view.source == "environment" else ".env"


def kind_name(chat_type: str) -> str:
    """Return the display name of a type of chats."""
    return _KINDS.get(chat_type, f"Chats of kind “{chat_type}”")


def _rule_of(key: str) -> str:
    """Return the subject of a rule that applies to one chat type or platform only."""
    kind, _, rest = key.partition(".")
    name = rest.partition(".")[0]
    if kind == "reset_by_type":
        return kind_name(name)
    return source_name(name) if kind == "reset_by_platform" else ""
