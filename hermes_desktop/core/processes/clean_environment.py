"""The process environment without secrets that other programs need not know."""

import re
from collections.abc import Callable, Mapping

_SECRET_WORDS = frozenset(
    {
        *("KEY", "KEYS", "PASS", "PAT", "BEARER"),
        *("COOKIE", "COOKIES", "DSN", "JWT"),
    }
)
_SECRET_AT_THE_END = frozenset({"AUTH", "PWD"})
"""As in MYSQL_PWD, unlike PWD and SSH_AUTH_SOCK."""
_SECRET_PARTS = re.compile(
    r"TOKEN|SECRET|AUTHORIZATION|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|CREDENTIAL"
    r"|(?:PRIVATE|ACCESS|SIGNING)_?KEY"
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable with this name is likely to hold a secret."""
    upper = name.upper()
    words = upper.split("_")
    if len(words) > 1 and words[-1] in _SECRET_AT_THE_END:
        return True
    return bool(_SECRET_PARTS.search(upper)) or not _SECRET_WORDS.isdisjoint(words)


def without_secrets(
    environ: Mapping[str, str], clean: Callable[[str], str] = lambda text: text
) -> dict[str, str]:
    """Return a copy without variables that hold secrets, judged by their names or values.

    Args:
        environ: The environment.
        clean: Removes secrets from text; a variable whose value it would change is left out.
    """
    return {
        name: value
        for name, value in environ.items()
        if not is_secret_name(name) and clean(value) == value
    }
