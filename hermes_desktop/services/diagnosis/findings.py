"""The result of a check, and running checks so that none can hang the others."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.core.errors import HermesError

State: TypeAlias = Literal["ok", "warning", "error", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes:
        name: What was checked, in a word or two.
        state: How it is; ``unknown`` if it could not be determined.
        found: The facts, in sentences.
        advice: What to do, "" if nothing.
    """

    name: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: As in its finding.
        run: Blocking; runs on a thread of its own and may raise anything.
        limit_s: Seconds it may take.
        when_late: What to do if it takes longer.
    """

    name: str
    run: Callable[[], Finding]
    limit_s: float = 10.0
    when_late: str = "Try again."


def run_checks(checks: Sequence[Check], clean: Callable[[str], str]) -> tuple[Finding, ...]:
    """Run all checks at the same time and return their findings in the given order. Blocks.

    A check that is late is left behind on its daemon thread and reported as unknown.

    Args:
        checks: The checks.
        clean: Removes secrets from a text.
    """
    began = time.monotonic()
    pending = [(check, PendingCall(check.run, f"doctor {check.name}")) for check in checks]
    findings = [
        _finding_of(check, call, check.limit_s - (time.monotonic() - began))
        for check, call in pending
    ]
    return tuple(
        replace(each, found=clean(each.found), advice=clean(each.advice)) for each in findings
    )


def _finding_of(check: Check, call: PendingCall[Finding], left_s: float) -> Finding:
    try:
        return call.result(max(0.0, left_s))
    except TimeoutError:
        late = f"No answer within {check.limit_s:g} s."
        return Finding(check.name, "unknown", late, check.when_late)
    except HermesError as error:
        return Finding(check.name, "unknown", error.title, error.hint)
    except OSError as error:
        failed = f"It could not be determined: {error.strerror or type(error).__name__}."
        return Finding(check.name, "unknown", failed, "Check the permissions of the home.")
    except BaseException as error:  # noqa: BLE001 - its text may hold anything, so only its kind
        failed = f"The check itself failed ({type(error).__name__})."
        return Finding(check.name, "unknown", failed, "Please report this bug.")
