"""Other bots are answered for a while, and no longer than that."""

import logging

import pytest

from hermes_desktop.gateway.platforms.telegram.intake import BotReplyLimit
from hermes_desktop.gateway.platforms.telegram.records import Incoming


def said(*, is_bot: bool, chat: str = "-100") -> Incoming:
    return Incoming(1, "message", chat_id=chat, user_id="8", is_bot=is_bot)


def test_two_bots_do_not_go_on_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    talk = BotReplyLimit()
    with caplog.at_level(logging.WARNING):
        taken = [talk.may_go_on(said(is_bot=True)) for _ in range(30)]
    assert taken.count(True) == 10
    assert caplog.text.count("until a human writes") == 1
    assert talk.may_go_on(said(is_bot=True, chat="-7"))  # elsewhere it is another talk
    assert talk.may_go_on(said(is_bot=False))
    talk.person_wrote("-100")
    assert talk.may_go_on(said(is_bot=True))


def test_it_forgets_the_oldest_chats() -> None:
    talk = BotReplyLimit()
    for number in range(2000):
        assert talk.may_go_on(said(is_bot=True, chat=str(number)))
    assert len(talk._answered) == 500
