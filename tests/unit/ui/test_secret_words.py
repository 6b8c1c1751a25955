"""Secrets in words: which place counts, who else takes which, what can be done."""

import pytest

from hermes_desktop.services.secrets.secrets_repository import SecretPlace, SecretView, Where
from hermes_desktop.settings.secrets import ReadState
from hermes_desktop.ui.settings.secrets import secret_text as words

NAME = "TELEGRAM_BOT_TOKEN"


def place(where: Where, end: str = "1234", state: ReadState = "stored") -> SecretPlace:
    named = {"environment": NAME, "keyring": "A Keyring", "config.yaml": "platforms.telegram.token"}
    end = end if state == "stored" else ""
    return SecretPlace(where, named.get(where, ""), state, end, f"secret-{end}" if end else "")


def view(*places: SecretPlace, differ: bool = False) -> SecretView:
    return SecretView(NAME, "telegram: bot token", "telegram", places, differ)


@pytest.mark.parametrize(
    ("places", "origin"),
    [
        ([], ""),
        ([place("keyring")], "Stored in the keyring."),
        ([place("plain file")], "Stored in a plain file. It is not encrypted there."),
        ([place(".env")], "Stored in .env."),
        ([place("config.yaml")], "Stored in config.yaml (platforms.telegram.token)."),
        (
            [place("environment")],
            "Set in the environment as TELEGRAM_BOT_TOKEN. It can be changed only there.",
        ),
        (
            [place("keyring", state="locked"), place(".env")],
            f"{words.STATE_WORDS['locked'][1]} Until then the one in .env is used.",
        ),
        (
            [place("keyring", state="damaged")],
            "Only part of it is still in the keyring. Paste it again.",
        ),
    ],
)
def test_where_it_is(places: list[SecretPlace], origin: str) -> None:
    assert words.origin_words(view(*places)) == origin


@pytest.mark.parametrize(
    ("places", "end"),
    [
        (
            ["keyring", ".env"],
            "Hermes Desktop uses the one in the keyring; “hermes” uses the one in .env.",
        ),
        (
            ["environment", ".env"],
            "Hermes Desktop uses the one in the environment; “hermes” uses the one in .env.",
        ),
        (["environment", "keyring"], "Hermes Desktop uses the one in the environment."),
        ([".env", "config.yaml"], "Hermes Desktop uses the one in .env."),
    ],
)
def test_two_that_differ_are_both_named(places: list[Where], end: str) -> None:
    found = [place(where, f"end{n}") for n, where in enumerate(places)]
    said = words.conflict_words(view(*found, differ=True))
    assert said.startswith("Two places hold different values: ")
    assert "ending in …end0" in said
    assert "ending in …end1" in said
    assert said.endswith(end)
    assert words.conflict_words(view(*found)) == ""


def test_the_end_is_said_only_when_asked_for_and_never_of_a_short_one() -> None:
    assert "1234" not in words.origin_words(view(place("keyring")))
    assert words.origin_words(view(place("keyring")), show_end=True) == (
        "Stored in the keyring, ending in …1234."
    )
    short = view(SecretPlace("keyring", "A Keyring", "stored", "", "short"))
    assert words.origin_words(short, show_end=True) == (
        "Stored in the keyring, too short to show any of it."
    )


def test_what_can_be_done_follows_from_where_it_is() -> None:
    assert words.movable(view(place(".env")))
    assert words.movable(view(place("config.yaml")))
    assert not words.movable(view(place("keyring")))
    assert words.can_move_back(view(place("keyring")))
    assert not words.can_move_back(view(place("keyring"), place(".env")))
    assert words.removable(view(place("plain file")))
    assert not words.removable(view(place("environment")))
    assert words.is_fixed(view(place("environment"), place("keyring")))


def test_rows_of_the_table() -> None:
    both = view(place("keyring", "aaaa"), place(".env", "bbbb"), differ=True)
    assert words.label_words(both) == "Telegram bot token"
    assert words.places_words(both) == "Keyring, .env"
    assert words.places_words(both, show_end=True) == "Keyring …aaaa, .env …bbbb"
    assert words.spoken_state(both) == "Values differ"
    assert words.spoken_state(view()) == "Not set"
    assert words.spoken_state(view(place("keyring", state="no keyring"))) == "No keyring"
    assert words.spoken_state(view(place("plain file"))) == "Not encrypted"
    assert words.used_by(both) == "Telegram"
    assert words.used_by(SecretView("X_KEY")) == "Unknown"
    assert words.label_words(SecretView("X_KEY")) == "X_KEY"


def test_what_is_left_after_removing_it() -> None:
    assert words.left_after_removal(view(place("keyring"), place(".env"))) == (
        "Then the one in .env is used."
    )
    assert "Telegram cannot log in without it" in words.left_after_removal(view(place("keyring")))
