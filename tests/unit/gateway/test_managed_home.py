"""Whoever manages a home writes its ``.env``; what a chat asks for is refused, people come in."""

from pathlib import Path

import pytest

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.gateway.commands.gateway_commands import write_home
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.config.user_lists import change_user_list
from hermes_desktop.gateway.sessions.session_records import SessionSource
from hermes_desktop.settings.env_file import set_env_line, write_secret
from tests.fakes.clock import MovableClock


@pytest.mark.parametrize("how", ["mark", "variable"])
def test_in_a_managed_home_nothing_is_written_whoever_asks(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\nTELEGRAM_ALLOWED_USERS=5,6\n")
    if how == "mark":
        (tmp_path / ".managed").write_text("")
    else:
        monkeypatch.setenv("HERMES_MANAGED", "nix")
    before = sorted(each.name for each in tmp_path.iterdir())
    source = SessionSource(Platform.TELEGRAM, "77", chat_type="dm")
    for change in (
        lambda: set_env_line(path, "A", "2"),
        lambda: write_home(path, source),
        lambda: change_user_list(path, "telegram", remove="5"),
        lambda: write_secret(path, "A_TOKEN", "x"),
    ):
        with pytest.raises(RefusedError, match="managed"):
            change()
    assert path.read_text() == "A=1\nTELEGRAM_ALLOWED_USERS=5,6\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == before


def test_in_a_managed_home_a_person_is_let_in_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TELEGRAM_ALLOWED_USERS=5\n")
    (tmp_path / ".managed").write_text("")
    store = PairingStore(tmp_path, MovableClock())
    code = store.request("telegram", "9", "Ann").code
    assert code is not None
    assert store.approve_code("telegram", code).user_id == "9"
    assert store.is_approved("telegram", "9")
    assert (tmp_path / ".env").read_text() == "TELEGRAM_ALLOWED_USERS=5\n"
