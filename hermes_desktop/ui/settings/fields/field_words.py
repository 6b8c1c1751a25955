"""A setting in words for its field: what it is called, what it says, and who says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_desktop.settings.options import EFFECT_WORDS
from hermes_desktop.ui.words.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.settings.options import Option
    from hermes_desktop.ui.settings.saving.draft import Edit

_UNIT = re.compile(r"^(?P<what>.+?) \((?P<unit>[a-z ]{1,14})\)$")
_MOST_LISTED = 3
_KINDS = {
    "dm": "Direct messages",
    "group": "Groups",
    "channel": "Channels",
    "thread": "Threads",
}


class LabelParts(NamedTuple):
    """A label taken apart: ``Telegram: silent for (minutes)``."""

    who: str
    what: str
    unit: str


def label_parts(option: Option) -> LabelParts:
    """Whom it is about, what it is, in which unit; the first and last may be empty."""
    who, colon, what = option.label.partition(": ")
    if not colon:
        who, what = "", option.label
    if option.platform and who:
        who = source_name(option.platform)
    who = _rule_of(option.key) or who
    found = _UNIT.match(what) if option.kind in {"number", "whole_number"} else None
    unit = found["unit"] if found else ""
    what = found["what"] if found else what
    return LabelParts(_first_up(who), _first_up(what), unit)


def given_of(option: Option, value: Any) -> Any:
    """A value as a field of its kind holds it."""
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
    """A value in a sentence."""
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
    """What counts where nothing is chosen."""
    follows = option.kind == "choice" and option.platform
    return "as on all platforms" if follows else "not set"


def help_words(option: Option, said: Collection[str] = ()) -> str:
    """What it does and what follows from it, unless that was said already."""
    consequence = "" if option.consequence in said else option.consequence
    return plain(" ".join(filter(None, (option.help, consequence))))


def range_words(option: Option) -> str:
    """What a number may be, in a few words; "" for no limits."""
    if option.kind not in {"number", "whole_number"}:
        return ""
    return plain(option.allowed())


def lock_reason(view: SettingView) -> str:
    """Why a setting cannot be changed here although the home can; "" when it can."""
    if view.option.variable_wins and view.source in {"environment", ".env"}:
        where = _variable_place(view)
        return f"{view.place} in {where} counts over what is set here. Take it out there first."
    return ""


def origin_words(view: SettingView) -> str:
    """Where the value comes from; "" for a default that nobody touched."""
    if view.problem:
        line = f", line {view.line}" if view.line else ""
        stored = " ".join(str(view.stored).split())[:40]
        return (
            f"The file holds “{stored}”{line}, which makes no sense: {plain(view.problem)} "
            f"Until then {value_words(view.option, view.value)} counts."
        )
    if view.source == "config.yaml":
        elsewhere = f" ({view.place})" if view.place != view.key else ""
        return f"From config.yaml, line {view.line}{elsewhere}"
    if view.source == "gateway.json":
        return f"From gateway.json ({view.place}); what is set here counts over it"
    if view.source in {"environment", ".env"} and not lock_reason(view):
        return f"From {view.place} in {_variable_place(view)}; what is set here counts over it"
    return {"settings.yaml": "Set here", "system": "As the system says"}.get(view.source, "")


def twice_words(key: str, lines: Sequence[int]) -> str:
    """That a key stands elsewhere, too, where it does not count; "" without such lines."""
    if not lines:
        return ""
    where = ", ".join(map(str, lines))
    noun = "line" if len(lines) == 1 else "lines"
    return f"“{key}” stands in {noun} {where}, too; only the last one counts"


def ignored_words(view: SettingView) -> str:
    """Places of the file where a value stands that another place overrules; "" without any."""
    return "\n".join(
        f"“{key}”, line {line}, does not count beside it" for key, line in view.ignored
    )


def effect_words(option: Option) -> str:
    """When a change counts."""
    return EFFECT_WORDS[option.effect]


def pending_words(view: SettingView, edit: Edit) -> str:
    """What a change that is not saved yet does."""
    if edit.problem:
        return ""
    option = view.option
    now = value_words(option, view.value)
    effect = effect_words(option).replace("It counts", "counts", 1)
    if edit.unset and edit.given == option.default:
        return f"Back to the default, not saved yet; {effect}"
    return f"Not saved yet, now {now}; {effect}"


def conflict_words(view: SettingView, edit: Edit) -> str:
    """What two people want of one setting."""
    theirs = value_words(view.option, view.value)
    return (
        f"Meanwhile this was changed elsewhere to “{theirs}”. You want “{mine_words(view, edit)}”."
    )


def mine_words(view: SettingView, edit: Edit) -> str:
    """What an edit asks for."""
    if edit.problem:
        return str(edit.given)
    return value_words(view.option, view.option.default if edit.unset else edit.value)


def plain(words: str) -> str:
    """Names of programs in quotation marks instead of backticks, apostrophes as in print."""
    return re.sub(r"(?<=\w)'", "’", re.sub(r"`([^`]*)`", r"“\1”", words))


def _variable_place(view: SettingView) -> str:
    return "the environment" if view.source == "environment" else ".env"


def kind_name(chat_type: str) -> str:
    """What chats of a kind are called."""
    return _KINDS.get(chat_type, f"Chats of kind “{chat_type}”")


def _rule_of(key: str) -> str:
    """Whose rule it is, where chats of one kind or platform have one of their own."""
    kind, _, rest = key.partition(".")
    name = rest.partition(".")[0]
    if kind == "reset_by_type":
        return kind_name(name)
    return source_name(name) if kind == "reset_by_platform" else ""


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
