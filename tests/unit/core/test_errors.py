"""The words and the exit codes of the failures a person can act on."""

import subprocess
import sys

import pytest

from hermes_desktop.core import errors
from hermes_desktop.core.errors import HermesError, ModelRefusedError, ProviderError


def test_text_is_title_detail_and_hint() -> None:
    assert str(HermesError("It failed.", "The disk is full.", "Free some space.")) == (
        "It failed. The disk is full. Free some space."
    )
    assert str(HermesError("It failed.")) == "It failed."
    assert HermesError("It failed.").args == ("It failed.",)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.HermesError, 1),
        (errors.UsageError, 2),
        (errors.NotFoundError, 3),
        (errors.AmbiguousError, 4),
        (errors.RefusedError, 5),
        (errors.CancelledError, 5),
        (errors.BusyError, 6),
        (errors.StateUnavailableError, 1),
        (errors.StateReadOnlyError, 1),
        (errors.ConfigError, 1),
        (errors.NotConfiguredError, 1),
    ],
)
def test_exit_codes(kind: type[HermesError], code: int) -> None:
    assert kind("It failed.").exit_code == code


def test_kinds_of_provider_errors_differ() -> None:
    kinds = [each.kind for each in ProviderError.__subclasses__()]

    assert len(set(kinds)) == len(kinds) == 5
    assert ModelRefusedError("No.", status=429).status == 429


def test_the_module_imports_nothing_but_typing() -> None:
    code = (
        "import sys, typing; before = set(sys.modules)\n"
        "import hermes_desktop.core.errors\n"
        "print(sorted(set(sys.modules) - before))"
    )

    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert out.strip() == (
        "['hermes_desktop', 'hermes_desktop.core', 'hermes_desktop.core.errors']"
    )
