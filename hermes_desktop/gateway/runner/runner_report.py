"""What a runner says about itself to whoever started it."""

from dataclasses import dataclass

from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.runner.runner_state import Phase


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """How a runner is doing, handed to its ``announce`` on the loop, after each change.

    Attributes:
        running_turns: How many turns run or are being prepared.
        platforms: The messaging platforms, sorted by name; none for a private runner.
    """

    phase: Phase
    running_turns: int = 0
    platforms: tuple[PlatformHealth, ...] = ()
