"""A session in words."""

from dataclasses import replace

import pytest

from hermes_desktop.core.events import ContextUsed
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.chat.header.session_text import facts_of, is_live, title_of, tokens_text
from hermes_desktop.ui.chat.link_confirmation import breakable

PLAIN = SessionSummary("s", "s", "telegram", None, "First  words\nhere", 1_000.0, 2_000.0)


def test_titles() -> None:
    assert title_of(replace(PLAIN, title="Trip plan")) == "Trip plan"
    assert title_of(PLAIN) == "First words here"
    assert title_of(replace(PLAIN, preview="")) == "Untitled session"


def test_facts() -> None:
    full = replace(
        PLAIN, message_count=1_042, model="gpt-x", input_tokens=12_000, output_tokens=345
    )
    used = ContextUsed("s", 12_300, 40_000, 30_000)
    assert facts_of(full, used) == "Telegram · 1,042 messages · gpt-x · 12.3 k tokens"
    assert facts_of(full) == "Telegram · 1,042 messages · gpt-x"
    assert facts_of(full, answering="gpt-x") == "Telegram · 1,042 messages · gpt-x"
    assert facts_of(full, answering="gpt-y").endswith("1,042 messages · answered by gpt-x")
    assert facts_of(replace(PLAIN, message_count=1)) == "Telegram · 1 message"
    assert facts_of(replace(PLAIN, display_name="Ada")).startswith("Telegram, Ada · ")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, ""), (950, "950 tokens"), (12_345, "12.3 k tokens"), (2_100_000, "2.1 M tokens")],
)
def test_tokens(tokens: int, text: str) -> None:
    assert tokens_text(tokens) == text


def test_live_means_a_moment_ago_and_open() -> None:
    open_one = replace(PLAIN, message_count=2)
    assert is_live(open_one, 2_010.0)
    assert not is_live(open_one, 2_400.0)
    assert not is_live(open_one, 1_990.0)
    assert not is_live(replace(open_one, ended_at=2_001.0), 2_010.0)
    assert not is_live(PLAIN, 2_010.0)


def test_an_address_is_shown_whole_in_lines() -> None:
    address = "https://a.example/" + "x" * 200
    assert breakable(address).replace("\n", "") == address
    assert len(breakable("https://a.example/" + "x" * 9_000)) < 2_200
