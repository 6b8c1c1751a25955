"""The records of a health check: immutable."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from hermes_desktop.state.database.file_systems import FileSystem
from hermes_desktop.state.database.holders import Holders
from hermes_desktop.state.maintenance.index_health import IndexHealth
from hermes_desktop.state.records.records import StoreCondition

Check: TypeAlias = Literal["none", "quick", "full"]
FindingKind: TypeAlias = Literal[
    "damaged",
    "index-damaged",
    "index-missing",
    "index-incomplete",
    "trigger-missing",
    "foreign-keys",
    "network-file-system",
    "read-only",
    "disk-nearly-full",
    "large-log",
    "sqlite-defect",
    "holders-unseen",
    "cut-short",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding for the user.

    Attributes:
        kind: A stable identifier.
        text: The finding as a sentence.
        hint: What to do, "" when nothing must be done.
        harms: Whether data or search results are at risk.
    """

    kind: FindingKind
    text: str
    hint: str = ""
    harms: bool = False


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of a health check. Sizes are bytes.

    Attributes:
        log_size: Of the write-ahead log beside the file.
        free_pages: Unused pages; optimizing returns them to the disk.
        integrity: Output of the check, () without errors, None when there was no check.
        indexes: The full-text tables, () when there was no check.
        cut_short: Sessions that are hidden because a program ended in the middle of an operation.
        broken_links: Rows that refer to a missing row, by table.
        holders: Other processes that have the file open, and how many cannot be inspected.
        findings: The findings as text; empty without problems.
    """

    path: Path
    size: int
    log_size: int
    page_size: int
    page_count: int
    free_pages: int
    journal_mode: str
    condition: StoreCondition
    sessions: int
    messages: int
    integrity: tuple[str, ...] | None
    indexes: tuple[IndexHealth, ...]
    broken_links: tuple[tuple[str, int], ...]
    holders: Holders
    file_system: FileSystem
    disk_free: int
    sqlite_version: str
    cut_short: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether no finding is harmful."""
        return not any(finding.harms for finding in self.findings)
