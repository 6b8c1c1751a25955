"""What a look at the health of the store tells: frozen records."""

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
    """One thing a person should know.

    Attributes:
        kind: A stable word.
        text: What it is, a sentence.
        hint: What to do, "" when nothing must be done.
        harms: Whether data or search results are at stake.
    """

    kind: FindingKind
    text: str
    hint: str = ""
    harms: bool = False


@dataclass(frozen=True, slots=True)
class HealthReport:
    """What was found. Sizes are bytes.

    Attributes:
        log_size: Of the write-ahead log beside the file.
        free_pages: Pages that nothing uses; optimising gives them back.
        integrity: What the check said, () when all is well, None when there was no check.
        indexes: The full-text tables, () when there was no check.
        cut_short: Sessions that nobody sees because a program ended half-way with them.
        broken_links: Rows that refer to something missing, by table.
        holders: Other processes that have the file open, and how many we cannot see into.
        findings: In words; empty when all is well.
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
        """Whether nothing that was found does harm."""
        return not any(finding.harms for finding in self.findings)
