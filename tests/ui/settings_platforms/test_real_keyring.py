"""The same with a real gnome-keyring on a bus of its own, in every state it can be in."""

from collections.abc import Iterator

import pytest
from keyring.backends import SecretService

from hermes_desktop.settings.split_secrets import Keyring
from tests.fakes.private_bus import NEEDS_KEYRING, PrivateBus, private_bus
from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage

pytestmark = [
    pytest.mark.asyncio,
    NEEDS_KEYRING,
    # The library leaves the sockets of calls that failed to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    ),
]

BOT, APP = "xoxb-1234567890-abcdefghij", "xapp-1-A01-123-abcdefghij"


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateBus]:
    with private_bus() as bus:
        for name, value in bus.environ().items():
            monkeypatch.setenv(name, value)
        yield bus


class Pulled:
    """The real keyring, pulled away after so many values were kept."""

    name = "SecretService Keyring"

    def __init__(self, bus: PrivateBus, after: int, *, behind: bool = False) -> None:
        self._keyring = SecretService.Keyring()
        self._bus = bus
        self._behind = behind  # only once it has kept the value
        self.left = after

    def get_password(self, service: str, username: str) -> str | None:
        return self._keyring.get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        gone = self.left == 0
        self.left -= 1
        if gone and not self._behind:
            self._bus.gone()
        self._keyring.set_password(service, username, password)
        if gone and self._behind:
            self._bus.gone()

    def delete_password(self, service: str, username: str) -> None:
        self._keyring.delete_password(service, username)


def real() -> Keyring:
    return SecretService.Keyring()


async def test_stored_moved_and_removed(stage: PlatformsStage, bus: PrivateBus) -> None:
    bus.unlocked()
    stage.open_keyring = real
    stage.env_file(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        await stage.offer("move")
        await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert stage.paths.env_file.read_text() == ""
        stage.paste(BETTER)
        await stage.save()
        await stage.until(lambda: stage.field.message.text == "It is stored in the keyring.")
        assert real().get_password(f"hermes-desktop:{stage.home}", TOKEN) == BETTER
        await stage.offer("remove")
        await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Not set.")
        assert real().get_password(f"hermes-desktop:{stage.home}", TOKEN) is None


async def test_locked_where_nothing_can_ask_for_the_password(stage, bus: PrivateBus) -> None:
    bus.unlocked()
    stage.open_keyring = real
    stage.kept(**{TOKEN: GOOD})
    bus.locked()
    async with stage:
        await stage.card()
        assert stage.field.origin.text().startswith("The keyring is locked.")
        assert stage.offers() == {"unlock", "remove"}
        stage.paste(BETTER)
        await stage.save()
        await stage.until(lambda: stage.field.message.text.startswith("The keyring is locked"))
        assert stage.field.message.button.text() == "Unlock…"
        assert stage.field.line.text() == BETTER
        assert stage.paths.config_yaml.read_text().count("\n") == 4


async def test_none_on_the_bus(stage: PlatformsStage, bus: PrivateBus) -> None:
    stage.open_keyring = real
    async with stage:
        stage.part._add("telegram")
        stage.paste(GOOD)
        await stage.save()
        await stage.until(lambda: "This desktop has no keyring" in stage.field.message.text)
        assert stage.field.message.button.text() == "Store in a plain file…"
        assert stage.field.line.text() == GOOD
        assert stage.index.read().get("keyring", {}) == {}


async def test_one_that_takes_questions_and_answers_none(stage, bus: PrivateBus) -> None:
    bus.unlocked()
    stage.open_keyring = real
    stage.kept(**{TOKEN: GOOD})
    bus.hanging()
    async with stage:
        await stage.card()
        assert "does not answer" in stage.field.origin.text()
        stage.paste(BETTER)
        stage.press(stage.view.bar.save)
        await stage.until(lambda: stage.field.waiting.isVisibleTo(stage.view))
        await stage.until(lambda: stage.chat.asked)  # the platform takes it; now the keyring
        await stage.until(lambda: stage.store._person is not None)
        stage.press(stage.field.waiting.cancel)
        await stage.until(lambda: not stage.view.controller.busy)
        assert stage.field.line.text() == BETTER
        bus.answering()
        await stage.offer("retry")
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert stage.store.demand(TOKEN) == GOOD


@pytest.mark.parametrize("after", [0, 1])
async def test_pulled_away_in_the_middle_nothing_is_half_saved(
    stage: PlatformsStage, bus: PrivateBus, after: int
) -> None:
    bus.unlocked()
    stage.more = "  slack:\n    enabled: false\n"
    pulled = Pulled(bus, after=1_000)
    stage.open_keyring = lambda: pulled
    stage.kept(SLACK_BOT_TOKEN="xoxb-before-0123456789")
    async with stage:
        await stage.shown_cards("slack")
        card = stage.part.cards["slack"]
        card.show_open(opened=True)
        stage.paste(BOT, card.fields["SLACK_BOT_TOKEN"])
        stage.paste(APP, card.fields["SLACK_APP_TOKEN"])
        card.head.switch.click()
        before = stage.paths.config_yaml.read_bytes()
        pulled.left = after
        await stage.save()
        await stage.until(lambda: card.fields["SLACK_APP_TOKEN"].message.level == "error")
        assert stage.paths.config_yaml.read_bytes() == before
        assert set(stage.index.read()["keyring"]) == {"SLACK_BOT_TOKEN"}
        said = card.fields["SLACK_APP_TOKEN"].message.text
        assert ("SLACK_BOT_TOKEN was stored before the failure." in said) is (after == 1)
        assert card.fields["SLACK_BOT_TOKEN"].line.text() == BOT
        assert len(stage.part.pending()) == 3
        bus.unlocked()  # it comes back, with what it had written down
        pulled.left = 1_000
        await stage.save()
        await stage.until(lambda: not len(stage.part.pending()))
        assert stage.store.demand("SLACK_APP_TOKEN") == APP
        assert stage.store.demand("SLACK_BOT_TOKEN") == BOT


async def test_a_long_one_comes_back_whole(stage: PlatformsStage, bus: PrivateBus) -> None:
    bus.unlocked()
    stage.open_keyring = real
    long = "m" * 4000
    stage.kept(MATRIX_ACCESS_TOKEN=long)
    async with stage:
        assert stage.store.demand("MATRIX_ACCESS_TOKEN") == long
        await stage.shown_cards("matrix")
