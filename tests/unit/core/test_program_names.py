"""Which program a command line runs."""

import pytest

from hermes_desktop.core.processes.program_names import is_own, may_be_hermes, program_in


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("/usr/bin/bash script.sh", "/usr/bin/bash"),
        ("/venv/bin/python3.11 /venv/bin/hermes chat -q hermes-desktop", "/venv/bin/hermes"),
        ("python -I -X utf8 -m hermes_desktop chat", "hermes_desktop"),
        ("python -mhermes_cli.main", "hermes_cli.main"),
        ("python -c pass", ""),
        ("python", ""),
        ("", ""),
    ],
)
def test_the_program_of_a_command_line(line: str, program: str) -> None:
    assert program_in(line.split()) == program


@pytest.mark.parametrize(
    ("line", "ours", "hermes"),
    [
        ("/opt/bin/hermes-desktop", True, True),
        ("C:\\Programs\\hermes-desktop.exe --hidden", True, True),
        ("python -m hermes_desktop gateway run", True, True),
        ("python -I -S /opt/site/hermes_desktop/gateway/identity/identity.py", True, False),
        ("python -I -S /opt/site/hermes_desktop/gateway/identity.py", True, False),
        ("python /opt/bin/hermes chat -q hermes-desktop", False, True),
        (
            "/home/me/hermes_desktop/.venv/bin/python /home/me/hermes_desktop/bin/hermes",
            False,
            True,
        ),
        ("python -m hermes_cli.main", False, True),
        ("python -c import_something", False, True),
        ("/usr/bin/ssh-agent -D", False, False),
        ("python3 /usr/bin/networkd-dispatcher --run-startup-triggers", False, False),
        ("", False, False),
    ],
)
def test_ours_and_those_that_may_be_hermes(line: str, ours: bool, hermes: bool) -> None:
    assert is_own(line.split()) is ours
    assert may_be_hermes(line.split()) is hermes
