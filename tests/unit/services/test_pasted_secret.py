"""What people paste as a token: taken, cleaned of what came along, or refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.core.errors import UsageError
from hermes_desktop.gateway.config.config_environment import HOME_VARIABLES, TOKEN_VARIABLES
from hermes_desktop.gateway.config.config_platforms import Platform
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS, SecretFacts
from hermes_desktop.services.secrets.secret_checks import checked_value
from hermes_desktop.services.settings.pasted_secret import (
    LONGEST,
    recognised,
    validate_argument,
    validate_pasted,
)

GOOD = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
SLACK = "xoxb-1234567890-abcdefghij"
TELEGRAM = PLATFORMS["telegram"].secrets[0]
PASSWORD = PLATFORMS["email"].secrets[0]


@pytest.mark.parametrize("text", [GOOD, "1234567:" + "a" * 35])
def test_a_good_one_is_taken_without_a_word(text: str) -> None:
    found = validate_pasted(text, TELEGRAM)
    assert (found.value, found.problem, found.note) == (text, "", "")
    assert text not in repr(found)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (f"{GOOD}\n", "A line break around it was removed."),
        (f"\r\n{GOOD}\r\n", "A line break around it was removed."),
        (f" {GOOD}\t", "A space around it was removed."),
        (f"TELEGRAM_BOT_TOKEN={GOOD}", "Only the text after “TELEGRAM_BOT_TOKEN=” was used."),
        (f'export TELEGRAM_BOT_TOKEN="{GOOD}"\n', "The quotation marks around it were removed."),
        (f"`{GOOD}`", "The quotation marks around it were removed."),
    ],
)
def test_what_came_along_is_left_out_and_said(text: str, note: str) -> None:
    found = validate_pasted(text, TELEGRAM)
    assert found.value == GOOD
    assert found.problem == ""
    assert note in found.note


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("   ", "It contains only spaces."),
        (f"{GOOD}\n{GOOD}", "This has 2 lines; a bot token has one. Copy only the bot token."),
        (f"{GOOD[:20]}\n{GOOD[20:]}", "This has 2 lines"),
        (f"Use this token: {GOOD}", "It contains spaces; a bot token has none."),
        ("x1" * 2500, "This has 5,000 characters; a bot token is much shorter."),
        ("123456789:\x00abc", "invisible characters"),
        ("123456789:AAE…", "characters that no token has"),
        ("••••••••", "This is a placeholder for the bot token"),
        ("your_token_here", "This is a placeholder for the bot token"),
        (SLACK, "This looks like a Slack bot token; a Telegram bot token is needed here."),
        ("syt_abcdefghijklmnop", "This looks like a Matrix access token"),
        ("sk-or-v1-0123456789abcdef0123", "This looks like a key for OpenRouter"),
        ("https://t.me/mybot", "This looks like a web address"),
    ],
)
def test_what_cannot_be_one_is_refused_and_never_repeated(text: str, problem: str) -> None:
    found = validate_pasted(text, TELEGRAM)
    assert found.value == ""
    assert problem in found.problem
    assert GOOD not in found.problem


def test_an_unusual_one_is_taken_with_a_remark() -> None:
    found = validate_pasted("123:abc", TELEGRAM)
    assert found.value == "123:abc"
    assert found.note.startswith("This looks unusual. The usual form is 123456789:AAE…")


def test_it_is_said_where_another_ones_token_belongs() -> None:
    assert validate_pasted(SLACK, TELEGRAM).belongs_to == "SLACK_BOT_TOKEN"
    slack_app = PLATFORMS["slack"].secrets[1]
    found = validate_pasted(SLACK, slack_app)
    assert found.problem == "This looks like a Slack bot token; a Slack app token is needed here."


def test_passwords_may_hold_blanks_and_any_letters() -> None:
    for text in ("abcd efgh ijkl mnop", "pässwörd", GOOD):
        assert validate_pasted(text, PASSWORD).value == text
    assert validate_pasted("two\nlines", PASSWORD).problem


def test_nothing_is_no_mistake() -> None:
    assert validate_pasted("", TELEGRAM).problem == ""


@given(st.text(max_size=80))
def test_whatever_is_pasted_what_is_taken_can_be_kept(text: str) -> None:
    for facts in (TELEGRAM, PASSWORD, SecretFacts("X_TOKEN", "Token")):
        found = validate_pasted(text, facts)
        assert not (found.value and found.problem)
        assert found.value == found.value.strip()
        assert found.value.isprintable()
        assert len(found.value) <= LONGEST
        if found.value:
            assert found.value in text


def test_every_platform_with_a_token_is_described() -> None:
    for platform, variable in {**TOKEN_VARIABLES, **HOME_VARIABLES}.items():
        facts = PLATFORMS[platform.value]
        assert variable in {facts.home_variable, *(each.variable for each in facts.secrets)}
    declared = {each.variable for each in SECRETS.values() if each.platform}
    assert declared <= {each.variable for facts in PLATFORMS.values() for each in facts.secrets}
    assert all(Platform(name) for name in PLATFORMS)


def test_shapes_of_different_platforms_are_told_apart() -> None:
    samples = {
        GOOD: "a Telegram bot token",
        SLACK: "a Slack bot token",
        "xapp-1-A01-123-abcdef": "a Slack app token",
        "M" + "T" * 23 + ".GabcDE." + "x" * 38: "a Discord bot token",
        "sk-ant-api03-abcdefghijklmnop": "a key for Anthropic",
        "ghp_0123456789abcdef0123": "a GitHub token",
    }
    for text, what in samples.items():
        found = recognised(text)
        assert found is not None
        assert found.what == what


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('"sk-or-quoted"', "quotation marks"),
        ("“sk-or-quoted”", "quotation marks"),
        ("Bearer sk-or-quoted", "Bearer"),
        ("Authorization: bearer sk-or-quoted", "Bearer"),
        ("OPENROUTER_API_KEY=sk-or-quoted", "OPENROUTER_API_KEY="),
        ("  sk-or-quoted\n", "line break"),
    ],
)
def test_what_surrounds_any_key_is_left_out_and_said(text: str, note: str) -> None:
    found = validate_argument("OPENROUTER_API_KEY", text)
    assert found.value == "sk-or-quoted"
    assert note in found.note


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sk-or-\u043eab", "cyrillic small letter o"),
        ("sk-or-ab\u200b", "zero width space"),
        ("sk-or-\xa0ab", "no-break space"),
        ("sk-“or”", "left double quotation mark"),
        ("", "empty"),
        ("OTHER_API_KEY=sk-or", "name"),
    ],
)
def test_a_key_with_an_odd_character_is_refused_with_its_name(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate_argument("OPENROUTER_API_KEY", text)
    assert named in caught.value.detail
    assert "sk-or" not in str(caught.value)


@pytest.mark.parametrize("text", ['"geheim"', "Bär enter", "A_B=c", "geheim\u043e"])
def test_a_password_may_hold_what_a_key_may_not(text: str) -> None:
    assert validate_argument("DATABASE_PASSWORD", text).value == text


@pytest.mark.parametrize("value", ['"sk-or"', "Bearer sk", "A_KEY=sk", "s\u043ek"])
def test_what_surrounds_a_key_is_not_kept_from_anywhere(value: str) -> None:
    with pytest.raises(UsageError):
        checked_value(value, "OPENAI_API_KEY")
    assert checked_value("QUJDRA==", "OPENAI_API_KEY") == "QUJDRA=="
