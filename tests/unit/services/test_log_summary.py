"""Entries of the log without their texts."""

from pathlib import Path

import pytest

from hermes_desktop.services.diagnosis.log_summary import read_entries

HEAD = "2026-11-29 10:00:00,000 ERROR hermes_desktop.ui.start.application: It failed\n"
FRAMES = (
    "Traceback (most recent call last):\n"
    '  File "/x/hermes_desktop/ui/start/application.py", line 7, in run\n'
    "    call()\n"
)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        ("ValueError: a text\nsecond line of it", "ValueError"),
        ("hermes_desktop.core.errors.BusyError", "hermes_desktop.core.errors.BusyError"),
        ("m.f.<locals>.OddError: first\nmy_password", "m.f.<locals>.OddError"),
        ("a text that names nothing\nmy_password", ""),
        ("my_password", ""),
        ("My_password: ValueError", ""),
    ],
)
def test_only_the_kind_of_an_exception_is_taken(tmp_path: Path, raised: str, kind: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"{HEAD}{FRAMES}{raised}\n", encoding="utf-8")

    (entry,) = read_entries(log)

    assert entry.kind == kind
    assert entry.place == "hermes_desktop/ui/start/application.py:7"
    assert "password" not in str(entry)
