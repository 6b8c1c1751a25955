"""Markdown reference of all settings and secrets, generated from their declarations."""

from collections.abc import Iterator
from typing import Any

from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.settings_book import OPTIONS
from hermes_desktop.settings.options import EFFECT_WORDS, Option
from hermes_desktop.settings.secret_options import SecretOption

_HEAD = """\
# Settings

Every setting that Hermes Desktop knows, as `hermes-desktop config reference` prints it. They are
changed in the window (Ctrl+,), with `hermes-desktop config set KEY VALUE`, or by hand in the files
of the home; whichever way, a program that runs follows. Keys of `config.yaml` that are not listed
here belong to `hermes` and are left as they are.
"""
_SECRETS = """\
## Secrets

By the variable that names them. What counts is the first of: environment, keyring, `.env`,
`config.yaml`, `gateway.json`. `hermes-desktop secrets set NAME` asks for a value and keeps it in
the keyring of the desktop.
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
    yield "| variable | what it is | when it counts |"
    yield "|---|---|---|"
    for secret in SECRETS.values():
        yield _secret(secret)


def _option(option: Option) -> Iterator[str]:
    yield f"### `{option.key}`\n"
    yield f"**{option.label}.** {option.help}\n"
    yield f"- Default: {_value(option.default)}. {option.allowed()}"
    for word, meaning in (option.choices or {}).items():
        yield f"  - {f'`{word}`' if word else 'nothing'}: {meaning}"
    if option.consequence:
        yield f"- {option.consequence}"
    yield f"- {EFFECT_WORDS[option.effect]}"
    if option.unknown_to_hermes:
        yield f"- {option.unknown_to_hermes}"
    places = [place.key for place in option.all_places()]
    if option.store == "system":
        yield "- Kept by the system, not by a file of the home."
    elif option.store == "desktop":
        yield "- Stands in `desktop/settings.yaml`; `hermes` does not know it."
    elif places != [option.key]:
        yield f"- May stand at {', '.join(f'`{place}`' for place in places)}."
    if option.switched_on_by:
        sets = " or ".join(
            " with ".join(f"`{name}`" for name in names) for names in option.switched_on_by
        )
        yield f"- Where the file is silent, {sets} alone sets it to true."
    if option.variables:
        order = "over the file" if option.variable_wins else "where the file is silent"
        names = " or ".join(f"`{name}`" for name in option.variables)
        yield f"- The variable {names} counts {order}."
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
