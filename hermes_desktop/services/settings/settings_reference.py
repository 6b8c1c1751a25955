"""Markdown reference of all settings and secrets, generated from their declarations."""

from collections.abc import Iterator
from typing import Any

from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.settings_repository import OPTIONS
from hermes_desktop.settings.options import EFFECT_WORDS, Option, SecretOption

_HEAD = """\
# Settings

The complete reference of the settings and secrets of Hermes Desktop, as printed by
`hermes-desktop config reference`. Change them in the window (Ctrl+,), with
`hermes-desktop config set KEY VALUE`, or by editing the files of the home; a running program picks
up every change.

A few keys of `config.yaml` are edited by hand and described in the [user guide](guide.md): your own
providers and fallbacks, quick commands, hooks, and what is below `platforms: telegram: extra:`. All
other keys that are not listed here belong to `hermes` and are left unchanged.
"""
_SECRETS = """\
## Secrets

Each secret is named by its variable. The first source that has a value is used: environment,
keyring, plain file, `.env`, `config.yaml`, `gateway.json`. `hermes-desktop secrets set NAME` asks
for a value and stores it in the system keyring.
"""


def settings_reference() -> str:
    """Return the page, ending in a newline."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    sections = dict.fromkeys(option.section for option in OPTIONS.values())
    for section in sections:
        yield f"## {section}\n"
        for option in OPTIONS.values():
            if option.section == section:
                yield from _option(option)
    yield _SECRETS
    yield "| variable | what it is | takes effect |"
    yield "|---|---|---|"
    for secret in SECRETS.values():
        yield _secret(secret)


def _option(option: Option) -> Iterator[str]:
    yield f"### `{option.key}`\n"
    yield f"**{option.title}.** {option.help}\n"
    yield f"- Default: {_value(option.default)}. {option.allowed()}"
    for word, meaning in (option.choices or {}).items():
        yield f"  - {f'`{word}`' if word else 'empty'}: {meaning}"
    if option.consequence:
        yield f"- {option.consequence}"
    if option.unavailable:
        yield f"- Not available in this version: {option.unavailable}"
    yield f"- {EFFECT_WORDS[option.effect]}"
    if option.unknown_to_hermes:
        yield f"- {option.unknown_to_hermes}"
    places = [place.key for place in option.all_places()]
    if option.store == "system":
        yield "- Stored by the system, not in the Hermes home."
    elif option.store == "desktop":
        yield "- Stored in `desktop/settings.yaml`; `hermes` does not use it."
    elif places != [option.key]:
        yield f"- Accepted at {', '.join(f'`{place}`' for place in places)}."
    if option.switched_on_by:
        sets = " or ".join(
            " with ".join(f"`{name}`" for name in names) for names in option.switched_on_by
        )
        yield f"- If the file does not set it, {sets} turns it on."
    if option.variables:
        order = "overrides" if option.variable_wins else "is used if it is not set in"
        names = " or ".join(f"`{name}`" for name in option.variables)
        yield f"- The variable {names} {order} the file."
    yield ""


def _secret(secret: SecretOption) -> str:
    return f"| `{secret.variable}` | {secret.label} | {EFFECT_WORDS[secret.effect]} |"


def _value(value: Any) -> str:
    if value is None or (isinstance(value, str | list) and not value):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list | tuple):
        return ", ".join(f"`{each}`" for each in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
