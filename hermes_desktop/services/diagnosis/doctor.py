"""All checks of ``hermes-desktop doctor``, and their findings as text."""

import functools
import textwrap
from collections.abc import Mapping, Sequence

from hermes_desktop.core.concurrency.time_bound import call_within
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis import (
    bus_checks,
    gateway_checks,
    home_checks,
    program_checks,
    store_checks,
)
from hermes_desktop.services.diagnosis.findings import Check, Finding, run_checks
from hermes_desktop.services.diagnosis.redaction import redactor_of

_SANDBOX_S, _FILES_S = 45.0, 5.0
_WIDTH = 80
_STATE_WIDTH, _NAME_WIDTH = 9, 15
_UNLOCK = "Check whether the keyring is waiting for its password, and try again."
_BUS = "Log out and in again, or restart the session bus."
_HEALTH = "Run `hermes-desktop sessions health`."


def examine(
    paths: HermesPaths | None, environ: Mapping[str, str], no_home: HermesError | None = None
) -> tuple[Finding, ...]:
    """Run all checks. Blocks for at most a minute; changes nothing and raises nothing.

    Args:
        paths: The home; None if it cannot be determined.
        environ: The process environment.
        no_home: Why it cannot be determined.
    """
    checks = _of_computer(paths, environ)
    if paths is not None:
        checks += _of_home(paths, environ)
    elif no_home is not None:
        checks.append(Check("Home", functools.partial(home_checks.check_missing_home, no_home)))
    checks.append(Check("Disk", functools.partial(program_checks.check_disk, paths)))
    return run_checks(checks, _redactor(paths, environ).clean)


def _redactor(paths: HermesPaths | None, environ: Mapping[str, str]) -> SecretRedactor:
    """Return a redactor for the home; only for the environment where its files do not answer."""
    try:
        return call_within(_FILES_S, lambda: redactor_of(paths, environ), name="doctor secrets")
    except TimeoutError:
        return redactor_of(None, environ)


def _of_computer(paths: HermesPaths | None, environ: Mapping[str, str]) -> list[Check]:
    part = functools.partial
    return [
        Check("Program", program_checks.check_versions),
        Check("Desktop", part(program_checks.check_desktop, environ)),
        Check("Tray", part(bus_checks.check_tray, environ), when_late=_BUS),
        Check("Notifications", part(bus_checks.check_notifications, environ), when_late=_BUS),
        Check("Keyring", part(bus_checks.check_keyring, paths, environ), 15.0, _UNLOCK),
        Check("Sandbox", program_checks.check_commands, _SANDBOX_S),
    ]


def _of_home(paths: HermesPaths, environ: Mapping[str, str]) -> list[Check]:
    part = functools.partial
    most_s = store_checks.QUICK_CHECK_S + 10.0
    return [
        Check("Home", part(home_checks.check_home, paths)),
        Check("Settings", part(home_checks.check_settings, paths, environ)),
        Check("Store", part(store_checks.check_store, paths), 20.0, _HEALTH),
        Check("Integrity", part(store_checks.check_integrity, paths), most_s, _HEALTH),
        Check("Open in", part(store_checks.check_users, paths)),
        Check("Gateway", part(gateway_checks.check_gateway, paths)),
        Check("Platforms", part(gateway_checks.check_platforms, paths, environ)),
        Check("Log", part(home_checks.check_log, paths)),
        Check("Crashes", part(home_checks.check_crashes, paths)),
    ]


def as_text(findings: Sequence[Finding]) -> str:
    """Return the findings as plain text of at most 80 columns."""
    lines = [line for finding in findings for line in _lines(finding)]
    return "\n".join((*lines, "", _summary(findings), ""))


def _lines(finding: Finding) -> list[str]:
    head = f"{finding.state:<{_STATE_WIDTH}}{finding.name:<{_NAME_WIDTH}}"
    indent = " " * len(head)
    lines: list[str] = []
    for number, paragraph in enumerate(finding.found.splitlines() or [""]):
        lines += textwrap.wrap(
            paragraph,
            _WIDTH,
            initial_indent=head if not number else f"{indent}  ",
            subsequent_indent=indent if not number else f"{indent}    ",
            break_on_hyphens=False,
        )
    if finding.advice:
        lines += textwrap.wrap(
            f"What to do: {finding.advice}",
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    return lines


def _summary(findings: Sequence[Finding]) -> str:
    counts = {
        "error": sum(each.state == "error" for each in findings),
        "warning": sum(each.state == "warning" for each in findings),
        "unknown": sum(each.state == "unknown" for each in findings),
    }
    bad = [
        f"{count} {word}{'' if count == 1 or word == 'unknown' else 's'}"
        for word, count in counts.items()
        if count
    ]
    return f"{len(findings)} checks: {', '.join(bad)}." if bad else "No problems found."
