"""The page about all settings is made from what is declared, and lies in the repository."""

from pathlib import Path

from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.settings_reference import settings_reference
from hermes_desktop.services.settings.settings_repository import OPTIONS
from tests.fakes.program import Program

PAGE = Path(__file__).parents[2] / "resources" / "docs" / "settings.md"


def test_the_page_in_the_repository_is_what_the_program_prints(program: Program) -> None:
    done = program.run("config", "reference")
    assert (done.code, done.err) == (0, "")
    assert PAGE.read_text(encoding="utf-8") == done.out, (
        "Write it anew: hermes-desktop config reference > resources/docs/settings.md"
    )


def test_everything_is_on_it_and_nothing_that_only_this_machine_has() -> None:
    page = settings_reference()
    assert all(f"### `{key}`\n" in page for key in OPTIONS)
    assert all(f"| `{name}` |" in page for name in SECRETS)
    assert str(Path.home()) not in page
