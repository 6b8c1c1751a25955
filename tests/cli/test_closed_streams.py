"""Standard streams that are closed, and a device without room."""

import subprocess
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, text
from tests.fakes.program import Converse, Program


def _run(program: Program, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *program.start_arguments(*arguments)],
        env=program.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_ends_nothing(program: Program, converse: Converse, closed: str) -> None:
    converse("a", "hello", "there")
    for arguments in (["sessions", "list"], ["sessions", "show", "a"], ["--help"]):
        done = _run(program, closed, *arguments)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_a_reply_that_cannot_be_written_is_stored(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(text("the whole reply"))
    done = _run(program, ">/dev/full", "chat", "-q", "hello")
    assert done.returncode == 1
    first, _, rest = done.stderr.partition("\n")
    assert first == "The output cannot be written."
    assert "The reply is stored" in rest
    shown = program.run("sessions", "list")
    assert program.run("sessions", "show", shown.out.split("\t")[0]).out.endswith(
        "the whole reply\n"
    )
