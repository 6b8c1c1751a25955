"""One list of secret places: the sandbox, the file tools, the rules on commands, and redaction."""

import json
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.own_places import Homes, is_grantable
from hermes_desktop.agent.sandbox.toolchains import system_secrets
from hermes_desktop.agent.tools.danger.assessment import judge
from hermes_desktop.agent.tools.danger.danger_paths import (
    Places,
    holds_secrets,
    is_forbidden,
    needs_care_to_write,
)
from hermes_desktop.core.files import secret_places
from hermes_desktop.core.log_setup import SecretRedactor, learn_named
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.transfer.session_redaction import redactor_of_home
from hermes_desktop.settings.stored_secrets import stored_secrets

HOME = Path("/home/ada")
PLACES = Places(HOME / "work", HOME, HOME / ".hermes")
HOMES = Homes(HOME, HOME / ".hermes")
VALUE = "planted-value-0123456789"
in_home = pytest.mark.parametrize("name", secret_places.KEPT_IN_HOME)


@in_home
def test_the_sandbox_never_opens_them(name: str) -> None:
    assert not is_grantable(HOME / name, HOMES)
    assert HOME / name in HOMES.never_granted()


@in_home
def test_file_tools_ask_before_they_read_or_write_them(name: str) -> None:
    assert holds_secrets(str(HOME / name), PLACES)
    assert needs_care_to_write(str(HOME / name), PLACES)


@in_home
def test_commands_that_name_them_are_asked_about(name: str) -> None:
    dangers = judge(f"base64 '{HOME / name}'", PLACES).dangers

    assert "reads-secrets" in {each.key for each in dangers}


@pytest.mark.parametrize("name", secret_places.STARTS_IN_HOME)
def test_what_starts_by_itself_is_never_written_unasked(name: str) -> None:
    assert not is_grantable(HOME / name, HOMES)
    assert needs_care_to_write(str(HOME / name), PLACES)


@pytest.mark.parametrize("name", secret_places.KEPT_IN_ETC)
def test_secrets_of_the_system_are_asked_about(name: str) -> None:
    assert holds_secrets(f"/etc/{name}", PLACES)


def test_secrets_of_the_system_that_can_be_read_are_hidden() -> None:
    names = {Path("/etc", each) for each in secret_places.KEPT_IN_ETC}

    assert set(system_secrets()) <= names


@pytest.mark.parametrize("name", secret_places.OWN_STORES)
def test_own_stores_are_never_opened_and_what_they_hold_is_removed(
    name: str, tmp_path: Path
) -> None:
    store = tmp_path / name
    store.parent.mkdir(exist_ok=True)
    held = {"providers": {"x": [{"access_token": VALUE}]}}
    store.write_text(f"X_TOKEN={VALUE}\n" if name == ".env" else json.dumps(held))
    redactor = SecretRedactor()
    for values in stored_secrets(tmp_path):
        learn_named(values, redactor)

    assert redactor.clean(f"It is {VALUE}.") == "It is [secret]."
    exported = redactor_of_home(HermesPaths(tmp_path, tmp_path)).clean({"content": VALUE[::-1]})
    assert VALUE[::-1] not in str(exported)
    assert is_forbidden(str(HOME / ".hermes" / name), PLACES)
    assert holds_secrets(str(HOME / ".hermes" / name), PLACES)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": null}', "\x00"])
def test_a_damaged_store_holds_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text(text)

    assert not any(each.values() for each in stored_secrets(tmp_path))


def test_an_ordinary_path_is_no_secret() -> None:
    for name in (
        "work/app.py",
        "Documents/letter.odt",
        ".hermes/skills/a/SKILL.md",
        "work/.docker",
    ):
        assert not secret_places.keeps_secrets(str(HOME / name), str(HOME))
        assert not secret_places.starts_by_itself(str(HOME / "work/a.py"), str(HOME))
