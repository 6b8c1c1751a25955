"""Running checks, summarizing the log, and judging a home."""

import threading
from pathlib import Path

import pytest

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis.doctor import as_text
from hermes_desktop.services.diagnosis.findings import Check, Finding, run_checks
from hermes_desktop.services.diagnosis.home_checks import check_home
from hermes_desktop.services.diagnosis.log_summary import read_entries
from hermes_desktop.services.diagnosis.redaction import redactor_of
from tests.fakes.another_user import folder_for_others, give_away, not_root


def ok(name: str) -> Finding:
    return Finding(name, "ok", "Good.")


def test_a_check_that_hangs_delays_no_other() -> None:
    never = threading.Event()
    checks = [
        Check("Hangs", lambda: (never.wait() and ok("Hangs")) or ok("Hangs"), 0.01, "Restart it."),
        Check("Works", lambda: ok("Works"), 60.0),
    ]

    hanging, works = run_checks(checks, str)

    never.set()
    assert (hanging.state, hanging.advice) == ("unknown", "Restart it.")
    assert works == ok("Works")


def test_a_check_that_fails_says_nothing_of_what_it_saw() -> None:
    def broken() -> Finding:
        raise ValueError("a private message")

    def refused() -> Finding:
        raise HermesError("It is locked.", "a private detail", "Unlock it.")

    def unreadable() -> Finding:
        raise PermissionError(13, "Permission denied", "/a/private/title")

    checks = [Check("Bug", broken), Check("Known", refused), Check("Closed", unreadable)]
    bug, known, closed = run_checks(checks, str)

    assert (bug.state, bug.found) == ("unknown", "The check itself failed (ValueError).")
    assert closed.found == "It could not be determined: Permission denied."
    assert (known.found, known.advice) == ("It is locked.", "Unlock it.")


def test_secrets_are_removed_from_findings_and_advice() -> None:
    finding = Finding("X", "error", "It is hush.", "Type hush.")

    (cleaned,) = run_checks([Check("X", lambda: finding)], lambda text: text.replace("hush", "?"))

    assert (cleaned.found, cleaned.advice) == ("It is ?.", "Type ?.")


def test_text_fits_a_terminal_and_needs_no_color() -> None:
    long_path = "/" + "folder/" * 40
    findings = [
        Finding("Home", "error", f"{long_path} is a file.", f"Move {long_path} away."),
        Finding("Notifications", "unknown", "First line.\nSecond line.", "Wait."),
        ok("Disk"),
    ]

    text = as_text(findings)

    assert max(map(len, text.splitlines())) <= 80
    assert "error    Home" in text
    assert "What to do: Wait." in text
    assert text.endswith("3 checks: 1 error, 1 unknown.\n")
    assert as_text([ok("Disk")]).endswith("No problems found.\n")


LOG = """\
a line that was cut off by the rotation
2026-11-29 10:00:00,001 WARNING hermes_desktop.settings.config_store: “A private title” is odd
2026-11-29 10:00:01,002 ERROR   hermes_desktop.ui.start: “A private title” failed
Traceback (most recent call last):
  File "/home/ada/hermes_desktop/ui/start/desktop_program.py", line 5, in run
    private_source_line()
  File "/usr/lib/python3/json.py", line 7, in loads
    more_source()
json.decoder.JSONDecodeError: a private message
2026-11-29 10:00:02,003 ERROR   hermes_desktop.x: first
PrivateError: second line of the message, not of a traceback
2026-11-29 10:00:03,004 ERROR   another_program: private
"""


def test_the_log_is_summarized_without_its_texts(tmp_path: Path) -> None:
    file = tmp_path / "desktop.log"
    file.write_text(LOG, encoding="utf-8")

    entries = read_entries(file)

    assert [str(entry) for entry in entries] == [
        "2026-11-29 10:00:00 WARNING hermes_desktop.settings.config_store",
        (
            "2026-11-29 10:00:01 ERROR hermes_desktop.ui.start: json.decoder.JSONDecodeError"
            " at hermes_desktop/ui/start/desktop_program.py:5"
        ),
        "2026-11-29 10:00:02 ERROR hermes_desktop.x",
    ]


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    file = tmp_path / "desktop.log"
    line = "2026-11-29 10:00:00,001 INFO    hermes_desktop.x: word\n"
    file.write_text(line * 20_000)

    assert 1_000 < len(read_entries(file)) < 10_000
    assert read_entries(tmp_path / "missing.log") == ()


@pytest.mark.parametrize(
    ("mode", "state", "words"),
    [
        (0o700, "ok", "other users cannot read it"),
        (0o755, "warning", "the names of its files, .env, state.db"),
        (0o711, "warning", "can read: .env, state.db"),
        (0o744, "warning", "can read: the names of its files."),
    ],
)
def test_who_can_read_a_home(tmp_path: Path, mode: int, state: str, words: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in (".env", "state.db"):
        (home / name).touch(0o644)
    home.chmod(mode)

    finding = check_home(HermesPaths(home, home))

    assert finding.state == state
    assert words in finding.found


def test_a_home_that_cannot_be_read() -> None:
    with folder_for_others() as folder:
        home = folder / "home"
        home.mkdir(0o300)
        give_away(home)
        with not_root():
            finding = check_home(HermesPaths(home, home))
            home.chmod(0o700)

    assert finding.state == "error"
    assert "You cannot read it." in finding.found


def test_the_secrets_of_files_and_environment_are_known(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model:\n  api_key: in-config-1\n  default: gpt\n")
    (tmp_path / ".env").write_text("SMTP_PASSWORD=in-env-file-2\n")
    (tmp_path / "desktop").mkdir()
    (tmp_path / "desktop" / "plain-secrets.json").write_text('{"X_TOKEN": "in-plain-file-3"}')

    redactor = redactor_of(HermesPaths(tmp_path, tmp_path), {"WORK_API_KEY": "in-environ-4"})

    text = "in-config-1 in-env-file-2 in-plain-file-3 in-environ-4 gpt"
    assert redactor.clean(text) == "[secret] [secret] [secret] [secret] gpt"
