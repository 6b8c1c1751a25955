"""Measurements of a gateway over time, as text."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, linear_regression
from typing import Any

from tests.fakes.soak_process import Sample, SoakHome

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 60


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return lines with aligned columns."""
    lines = [head, *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


@dataclass
class Series:
    """Samples of one process, one per second."""

    samples: list[Sample] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)

    async def follow(self, gateway: SoakHome) -> None:
        """Take samples until cancelled."""
        while True:
            sample = gateway.sample()
            if sample is not None:
                self.samples.append(sample)
            await asyncio.sleep(1.0)

    def mark(self, name: str) -> None:
        """Name the current moment."""
        self.marks[name] = len(self.samples) - 1

    def between(self) -> list[Sample]:
        """Return the samples from "warm" to "end"."""
        return self.samples[self.marks["warm"] : self.marks["end"] + 1]

    def mib_an_hour(self) -> float:
        """Return the growth of memory from "warm" to "end", in MiB per hour."""
        times = [each.at / 3600 for each in self.between()]
        return linear_regression(times, [each.rss_mib for each in self.between()]).slope

    def compared(self, before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
        """Return rows that compare "warm" with "end"."""
        first, last = (self.samples[self.marks[name]] for name in ("warm", "end"))
        rows = [
            ("memory, MiB", f"{first.rss_mib:.1f}", f"{last.rss_mib:.1f}"),
            ("memory, MiB an hour", "", f"{self.mib_an_hour():.1f}"),
            ("open files", str(first.files), str(last.files)),
            ("threads", str(first.threads), str(last.threads)),
            ("child processes", str(first.children), str(last.children)),
        ]
        rows += [
            (name, str(len(before[name])), str(len(after[name]))) for name in ("tasks", "threads")
        ]
        return [*rows, ("objects", str(before["objects"]), str(after["objects"]))]

    async def idle(self, gateway: SoakHome, seconds: float) -> list[tuple[str, str]]:
        """Measure the activity of an idle gateway."""
        first, woken, began = gateway.sample(), gateway.wake_ups(), time.monotonic()
        await asyncio.sleep(seconds)
        last, took = gateway.sample(), time.monotonic() - began
        assert first is not None
        assert last is not None
        return [
            ("CPU, % of a core", f"{100 * (last.cpu_s - first.cpu_s) / took:.2f}"),
            ("wake-ups a second", f"{(gateway.wake_ups() - woken) / took:.1f}"),
            ("memory, MiB", f"{last.rss_mib:.1f}"),
        ]

    def chart(self, title: str, value: Callable[[Sample], float]) -> str:
        """Return a line of bars from the first sample to the last."""
        step = max(1, len(self.samples) // _COLUMNS)
        means = [
            fmean(value(each) for each in self.samples[at : at + step])
            for at in range(0, len(self.samples), step)
        ]
        low, high = min(means), max(means)
        span = (high - low) or 1.0
        bars = "".join(_BARS[round((each - low) / span * (len(_BARS) - 1))] for each in means)
        return f"{title}, {low:.1f} to {high:.1f}: {bars}"
