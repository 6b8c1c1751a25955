"""Removal of secrets from sessions that leave the home."""

import base64
import os
import re
from collections.abc import Mapping
from typing import Any

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.log_setup import SHORTEST, SecretRedactor, learn_named
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import read_env_file
from hermes_desktop.settings.secret_masking import literal_secrets
from hermes_desktop.settings.stored_secrets import stored_secrets

_MARK = "[secret]"
_SHORTEST_DISGUISE = 8
_KEY_WORDS = r"(?:api[_-]?key|access[_-]?key|secret|token|passwd|password|credential)s?"
_NAMED = re.compile(rf"[A-Z0-9_]*{_KEY_WORDS}[A-Z0-9_]*", re.IGNORECASE)
_PATTERNS = (
    re.compile(r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
               re.DOTALL),
    re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\b(AIza)[0-9A-Za-z_-]{30,}"),
    re.compile(r"\b(eyJ)[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*"),
    re.compile(
        rf"""(\b[A-Z0-9_]*{_KEY_WORDS}[A-Z0-9_]*\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;&]{{6,}}""",
        re.IGNORECASE,
    ),
)  # fmt: skip
_KEPT = frozenset(
    {"id", "session_id", "parent_session_id", "lineage_session_ids", "role", "source"}
)


class SessionRedactor:
    """Removes secrets from exported sessions: those of known shapes, and those of the home.

    Fields that name a session or a role are kept, so that a redacted export can be imported.

    Args:
        known: Values to remove wherever they occur, keyed by name; values whose name does not
            indicate a secret are kept.
        secrets: Values that are secrets whatever their name.
    """

    def __init__(self, known: Mapping[str, str], secrets: frozenset[str] = frozenset()) -> None:
        self._redactor = SecretRedactor()
        for value in secrets:
            self._learn(value)
        for name, value in known.items():
            if _NAMED.fullmatch(name):
                self._learn(value)

    def learn_named(self, values: Mapping[str, str]) -> None:
        """Also remove the values of variables whose names indicate a secret."""
        named = SecretRedactor()
        learn_named(values, named)
        for value in named.values:
            self._learn(value)

    def _learn(self, value: str) -> None:
        """Also remove a value, and its reversed and encoded forms."""
        if len(value) >= SHORTEST:
            for each in (value, *disguises(value)):
                self._redactor.learn(each)

    def clean(self, value: Any, name: str = "") -> Any:
        """Return the same value without secrets, recursively."""
        if name in _KEPT:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {key: self._member(str(key), each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(each) for each in value]
        return value

    def _member(self, name: str, value: Any) -> Any:
        """Clean the value of a field; a field whose name indicates a secret is replaced."""
        if isinstance(value, str) and value and _NAMED.fullmatch(name):
            return _MARK
        return self.clean(value, name)

    def _text(self, text: str) -> str:
        text = self._redactor.clean(text)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\1{_MARK}", text)
        return text


def disguises(value: str) -> tuple[str, ...]:
    """Return a secret reversed, in hexadecimal digits, and as it occurs within Base64.

    In Base64 a text has three forms, depending on where it begins; the characters that depend on
    the surrounding text are left out.
    """
    data = value.encode("utf-8", "replace")
    found = [value[::-1], data.hex(), data.hex().upper()]
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode("ascii")
        first = -(-before * 8 // 6)
        core = whole[first : (before + len(data)) * 8 // 6]
        found += [core, core.replace("+", "-").replace("/", "_")]
        found += [core[::-1]]
    return tuple(each for each in dict.fromkeys(found) if len(each) >= _SHORTEST_DISGUISE)


def redactor_of_home(paths: HermesPaths) -> SessionRedactor:
    """Return a redactor for the keys, tokens and passwords in ``.env`` and the environment.

    Values in the keyring are covered too, as far as it returns them within seconds. Blocking.

    Raises:
        ConfigError: The file exists and may not be read.
    """
    # Imported here so that listing sessions does not start the keyring's thread.
    from hermes_desktop.services.secrets.secret_access import open_secrets  # noqa: PLC0415

    access = open_secrets(paths, SystemClock())
    names = access.store.names()
    readings = access.store.read_all(names) if names else {}
    kept = {name: each.value or "" for name, each in readings.items()}
    redactor = SessionRedactor(
        read_env_file(paths.env_file), frozenset((*kept.values(), *access.plain.read().values()))
    )
    redactor.learn_named(os.environ)
    for values in (*stored_secrets(paths.home), *literal_secrets(_config(paths))):
        redactor.learn_named(values)
    return redactor


def _config(paths: HermesPaths) -> Mapping[str, Any]:
    """Return config.yaml; nothing if it cannot be read, as its secrets are not known then."""
    try:
        return read_config(paths.config_yaml).data
    except ConfigError:
        return {}
