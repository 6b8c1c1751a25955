"""One save reads each file once and parses what it writes once, however many settings there are."""

from pathlib import Path

import pytest

from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.settings.secret_index import SecretIndex
from tests.fakes.save_costs import TOKEN, costs_of, countable, settings_of_used_home


@pytest.mark.asyncio
async def test_one_save(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with countable():
        async with settings_of_used_home(home) as settings:
            (view,) = await settings.look("agent.max_turns")
            change = Change("agent.max_turns", 61, seen=view.seen)
            costs = await costs_of(home, lambda: settings.apply([change]))
            assert (await settings.look("agent.max_turns"))[0].value == 61
    assert sum(costs.reads.values()) <= 10, costs.reads
    assert costs.looks <= 10
    assert set(costs.reads) <= {"config.yaml", ".env", "secrets.json", "settings.yaml"}
    assert costs.parses <= 3  # the new values, and the positions before and after
    assert costs.calls <= 2000


@pytest.mark.asyncio
async def test_a_save_right_after_another(tmp_path: Path) -> None:
    """Files that were written a moment ago are read again, and not parsed again."""
    home = tmp_path / "home"
    with countable():
        async with settings_of_used_home(home) as settings:
            await settings.apply([Change("agent.max_turns", 61)])
            costs = await costs_of(home, lambda: settings.apply([Change("agent.max_turns", 62)]))
            assert costs.parses <= 2
            again = await costs_of(home, lambda: settings.look("agent"))
    assert sum(again.reads.values()) <= 1  # its time shows every change from now on
    assert again.parses <= 1  # the lines of the keys


@pytest.mark.asyncio
async def test_a_changed_secret(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with countable():
        async with settings_of_used_home(home) as settings:
            given = {"OPENROUTER_API_KEY": "sk-or-" + "b" * 20}
            costs = await costs_of(home, lambda: settings.apply([], given))
    assert costs.parses == 0
    assert costs.reads["config.yaml"] == 0


@pytest.mark.asyncio
async def test_the_index_of_secrets_is_opened_a_few_times_per_save(tmp_path: Path) -> None:
    """Before the save, for it under the lock, and for each of the two checks that follow it."""
    home = tmp_path / "home"
    with countable():
        async with settings_of_used_home(home) as settings:
            by_another_process = SecretIndex(home / "desktop")
            by_another_process.note("keyring", "OTHER_TOKEN", "another keyring")
            given = {"TELEGRAM_BOT_TOKEN": TOKEN[:-1] + "B"}
            costs = await costs_of(home, lambda: settings.apply([], given))
    assert 1 <= costs.reads["secrets.json"] <= 4, costs.reads
    assert set(by_another_process.read()["keyring"]) == {"TELEGRAM_BOT_TOKEN", "OTHER_TOKEN"}
