"""All secrets on the page of privacy: listed, sorted, looked at, moved, removed, checked."""

import pytest
from PySide6.QtCore import Qt

from hermes_desktop.ui.settings.secrets.secret_model import LABEL, STATE, USED_BY, WHERE
from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage

pytestmark = pytest.mark.asyncio

KEY = "sk-or-v1-abcdefghijkl9876"


@pytest.fixture
def privacy(stage: PlatformsStage) -> PlatformsStage:
    stage.first_page = "privacy"
    return stage


def rows(stage: PlatformsStage) -> list[tuple[str, ...]]:
    order = stage.group.order
    columns = (LABEL, WHERE, STATE, USED_BY)
    return [
        tuple(str(order.index(row, column).data()) for column in columns)
        for row in range(order.rowCount())
    ]


async def test_all_that_are_set_are_listed_and_sorted(privacy: PlatformsStage) -> None:
    privacy.kept(**{TOKEN: GOOD, "GITHUB_TOKEN": "ghp_abcdefghijkl1234"})
    privacy.env_file(OPENROUTER_API_KEY=KEY, **{TOKEN: BETTER})
    async with privacy as stage:
        group = stage.group
        assert rows(stage) == [
            ("GITHUB_TOKEN", "Keyring", "Stored", "Unknown"),
            ("Key for OpenRouter", ".env", "Stored", "Models"),
            ("Telegram bot token", "Keyring, .env", "Values differ", "Telegram"),
        ]
        group.table.sortByColumn(STATE, Qt.SortOrder.AscendingOrder)
        assert [row[2] for row in rows(stage)] == ["Stored", "Stored", "Values differ"]
        group.ends.setChecked(True)
        assert ("Keyring …K-bc, .env …K-zz") in {row[1] for row in rows(stage)}
        group.ends.setChecked(False)
        assert "K-bc" not in str(rows(stage))
        group.unset.setChecked(True)
        assert len(rows(stage)) > 10
        assert ("Discord bot token", "", "Not set", "Discord") in rows(stage)
        assert group.keyring.words.text() == "The keyring works: Fake Keyring."


async def test_two_keys_of_one_provider_are_told_apart_by_their_variables(privacy) -> None:
    async with privacy as stage:
        stage.group.unset.setChecked(True)
        labels = [row[0] for row in rows(stage)]
        assert len(set(labels)) == len(labels)
        assert "Key for Gemini (GEMINI_API_KEY)" in labels
        assert "Key for Gemini (GOOGLE_API_KEY)" in labels
        assert "Key for OpenRouter" in labels


async def test_an_empty_home_asks_no_keyring_until_a_person_does(privacy) -> None:
    async with privacy as stage:
        group = stage.group
        assert stage.keyring.calls == []
        assert group.empty.isVisibleTo(stage.view)
        assert group.keyring.words.text() == "The keyring has not been used yet."
        stage.press(group.keyring.check)
        await stage.until(lambda: group.keyring_said.text)
        assert group.keyring_said.text == "The keyring works: Fake Keyring."
        assert stage.keyring.values == {}


async def test_the_chosen_one_can_be_moved_removed_and_replaced(privacy) -> None:
    privacy.env_file(OPENROUTER_API_KEY=KEY)
    async with privacy as stage:
        group = stage.group
        assert group.focus_key("OPENROUTER_API_KEY")
        field = group._fields["OPENROUTER_API_KEY"]
        assert field.isVisibleTo(stage.view)
        await stage.offer("move", field)
        await stage.agree()
        await stage.until(lambda: rows(stage)[0][1] == "Keyring")
        await stage.undo(field)
        await stage.until(lambda: rows(stage)[0][1] == ".env")
        stage.paste(f"{KEY}-new", field)
        await stage.save()
        await stage.until(lambda: rows(stage)[0][1:3] == ("Keyring, .env", "Values differ"))
        assert stage.store.demand("OPENROUTER_API_KEY") == f"{KEY}-new"
        assert field.isVisibleTo(stage.view)
        await stage.offer("use_env", field)
        await stage.agree()
        await stage.until(lambda: rows(stage)[0][1] == ".env")


async def test_a_token_of_a_platform_leads_to_where_it_is_tested(privacy) -> None:
    privacy.kept(**{TOKEN: GOOD})
    async with privacy as stage:
        stage.group.focus_key(TOKEN)
        field = stage.group._fields[TOKEN]
        assert not field.line.isVisibleTo(stage.view)
        assert field.offers["elsewhere"].text() == "Set up Telegram…"
        stage.press(field.offers["elsewhere"])
        await stage.until(lambda: stage.view.page_name == "platforms")
        await stage.until(lambda: stage.part.known)


async def test_a_locked_keyring_is_unlocked_from_here(privacy: PlatformsStage) -> None:
    privacy.kept(**{TOKEN: GOOD})
    privacy.keyring.locked = True
    async with privacy as stage:
        group = stage.group
        assert rows(stage)[0][2] == "Locked"
        assert group.keyring.check.text() == "Unlock…"
        stage.keyring.locked = False
        stage.press(group.keyring.check)
        await stage.until(lambda: rows(stage)[0][2] == "Stored")
        assert group.keyring.check.text() == "Check the keyring"


async def test_what_another_process_changes_comes_into_the_table(privacy) -> None:
    async with privacy as stage:
        await stage.services.settings.start_following()  # what is so now is known
        assert rows(stage) == []
        stage.env_file(**{TOKEN: GOOD})
        stage.services.settings.noticed()
        await stage.until(lambda: [row[1] for row in rows(stage)] == [".env"])
