"""No secret reaches the log, and the log disturbs nobody."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.log_setup import RecentLines, SecretRedactor, set_up_logging

SECRETS = [
    "sk-proj-abcdefghijklmnopqrstuvwx",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "xoxb-1234567890-abcdefghijkl",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "glpat-abcdefghij-klmnop_qrst",
    "123456789:AAE-abcdefghijklmnopqrstuvwxyz_12345",
]


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """The package's logger; its handlers are taken off again."""
    found = logging.getLogger("hermes_desktop")
    before, level = list(found.handlers), found.level
    found.handlers.clear()
    found.propagate = False
    yield found
    found.propagate = True
    for handler in list(found.handlers):
        found.removeHandler(handler)
        handler.close()
    found.handlers.extend(before)
    found.setLevel(level)


# ------------------------------------------------------------------------------------- redaction


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "key={}", '{{"key": "{}"}}', "({})", "x {} y", "{}\n"])
def test_secrets_of_known_shapes(secret: str, frame: str) -> None:
    cleaned = SecretRedactor().clean(frame.format(secret))

    assert secret not in cleaned
    assert secret[-8:] not in cleaned
    assert "[secret]" in cleaned


def test_authorization_headers_and_addresses() -> None:
    redactor = SecretRedactor()

    assert "abcdef.ghi" not in redactor.clean("Authorization: Bearer abcdef.ghi-jkl")
    cleaned = redactor.clean("GET https://ida:open-sesame@example.org/v1?x=1 failed")
    assert cleaned == "GET https://ida:…[secret]@example.org/v1?x=1 failed"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "20260101_100000_a1b2c3 has 12 messages",
        "https://example.org:8080/v1/chat/completions answered 404",
        "The bearer of this letter",
        "Message 123456 at 10:20:30",
        "ask-me-anything",
    ],
)
def test_plain_words_stay(text: str) -> None:
    assert SecretRedactor().clean(text) == text


def test_learnt_values() -> None:
    redactor = SecretRedactor()
    for value in ("open-sesame", None, "", "12345", "open-sesame-and-more", "open-sesame"):
        redactor.learn(value)

    assert redactor.clean("open-sesame-and-more, open-sesame, 12345") == (
        "[secret], [secret], 12345"
    )


def test_learning_while_cleaning() -> None:
    redactor = SecretRedactor()
    failures: list[Exception] = []

    def clean() -> None:
        try:
            for _ in range(300):
                redactor.clean("some text")
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=clean)
    thread.start()
    for number in range(300):
        redactor.learn(f"secret-{number}")
    thread.join(60)

    assert failures == []


# --------------------------------------------------------------------------------------- logging


def test_file_and_ring_get_clean_lines(tmp_path: Path, logger: logging.Logger) -> None:
    redactor = SecretRedactor()
    redactor.learn("open-sesame")
    file = tmp_path / "logs" / "desktop.log"

    ring = set_up_logging(redactor, log_file=file)
    try:
        int("open-sesame")
    except ValueError:
        logging.getLogger("hermes_desktop.some.part").exception("Asked with %s", SECRETS[0])
    logging.getLogger("hermes_desktop.some.part").debug("not interesting")

    (line,) = ring.lines
    assert line + "\n" == file.read_text()
    assert "ValueError: invalid literal for int() with base 10: '[secret]'" in line
    assert SECRETS[0] not in line
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_setting_up_twice_logs_once(tmp_path: Path, logger: logging.Logger) -> None:
    set_up_logging(SecretRedactor(), log_file=tmp_path / "a.log")
    ring = set_up_logging(SecretRedactor(), log_file=tmp_path / "b.log")
    logger.info("Hello")

    assert len(ring.lines) == 1
    assert not (tmp_path / "a.log").exists()


def test_without_a_place_the_ring_still_works(
    tmp_path: Path, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("a file, not a folder")
    (tmp_path / "taken.log").mkdir()

    for file in (tmp_path / "logs" / "desktop.log", tmp_path / "taken.log"):
        ring = set_up_logging(SecretRedactor(), log_file=file)
        logger.warning("Hello")
        assert ring.lines[-1].endswith("Hello")

    assert capsys.readouterr().err == ""


def test_a_bad_record_stops_nobody(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = set_up_logging(SecretRedactor())

    logger.info("%d and %d", 1)  # noqa: PLE1206 - this is the bad record
    logger.info("fine")

    assert len(ring.lines) == 1
    assert "not enough arguments" in capsys.readouterr().err


def test_the_ring_keeps_the_last_lines() -> None:
    ring = RecentLines(size=3)
    for number in range(10):
        ring.emit(logging.LogRecord("x", logging.INFO, "", 1, f"line {number}", (), None))

    assert list(ring.lines) == ["line 7", "line 8", "line 9"]
