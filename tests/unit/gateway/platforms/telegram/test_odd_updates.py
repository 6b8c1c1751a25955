"""Whatever a server sends as an update, nothing of it ends the asking for more."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.messages import MessageEvent
from hermes_desktop.gateway.platforms.telegram.incoming import incoming
from hermes_desktop.gateway.platforms.telegram.intake import UpdateConverter
from hermes_desktop.gateway.platforms.telegram.options import read_options
from hermes_desktop.gateway.platforms.telegram.poller import groups_of, may_go_on
from hermes_desktop.gateway.platforms.telegram.records import Bot

PERSON = {"id": 42, "is_bot": False, "first_name": "Ann", "username": "ann"}
CHATS: list[dict[str, Any]] = [
    {"id": 42, "type": "private", "first_name": "Ann"},
    {"id": -100, "type": "supergroup", "title": "Team", "is_forum": True},
]
MESSAGE: dict[str, Any] = {
    "message_id": 5, "date": 9, "from": PERSON, "text": "@ourbot hello", "edit_date": 10,
    "entities": [{"type": "mention", "offset": 0, "length": 7}],
    "reply_to_message": {"message_id": 3, "text": "x", "from": PERSON}, "quote": {"text": "q"},
    "photo": [{"file_id": "p", "width": 1, "height": 1, "file_size": 3}],
    "document": {"file_id": "d", "file_name": "a.txt", "mime_type": "text/plain", "file_size": 1},
    "sticker": {"file_id": "s", "emoji": "x"}, "media_group_id": "g",
    "venue": {"location": {"latitude": 1, "longitude": 2}, "title": "Bar"},
    "poll": {"question": "q", "options": [{"text": "a"}]}, "contact": {"first_name": "Bo"},
    "forward_origin": {"type": "user", "sender_user": PERSON}, "dice": {"emoji": "x", "value": 1},
    "sender_chat": {"id": -100}, "message_thread_id": 4, "is_topic_message": True,
    "external_reply": {"origin": {"type": "chat", "sender_chat": {"title": "t"}}},
    "story": {"id": 1}, "migrate_to_chat_id": -1,
}  # fmt: skip
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5),
    st.just([]), st.just({}), st.just([1, {}, "x", None]), st.just({"id": []}), st.just("\ud83d"),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a value, the innermost, too."""
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] * bool(path) + [p for key, each in steps for p in places(each, (*path, key))]


@st.composite
def updates(draw: st.DrawFn) -> dict[str, Any]:
    """An update like Telegram's in which a few things are not as they should be."""
    message = copy.deepcopy(MESSAGE) | {"chat": copy.deepcopy(draw(st.sampled_from(CHATS)))}
    for key in draw(st.sets(st.sampled_from(sorted(MESSAGE)), max_size=len(MESSAGE))):
        del message[key]
    kind = draw(st.sampled_from(["message", "edited_message", "callback_query"]))
    found: dict[str, Any] = {"update_id": draw(st.integers(1, 9))}
    found[kind] = message
    if kind == "callback_query":
        found[kind] = {"id": "7", "from": dict(PERSON), "data": "answer:q:yes", "message": message}
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(places(found[kind])))
        holder = found[kind]
        try:
            for step in way:
                holder = holder[step]
            holder[last] = copy.deepcopy(draw(ODD))
        except (KeyError, IndexError, TypeError):  # it is not there any more
            continue
    return found


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(updates(), max_size=4))
def test_they_are_messages_or_nothing(batch: list[dict[str, Any]]) -> None:
    read = [incoming(update) for update in batch]
    assert len({*read, None}) <= len(read) + 1  # each can be a key
    assert may_go_on(read) in {True, False}
    groups = groups_of(read)
    assert sorted(each.update_id for group in groups for each in group) == sorted(
        each.update_id for each in read
    )
    intake = UpdateConverter(read_options(PlatformConfig(extra={"require_mention": True})))
    for group in groups:
        event = intake._event_of(group, Bot(7, "OurBot", "Our Bot"))
        if event is not None:
            assert isinstance(event, MessageEvent)
            assert event.source is not None
            f"{event.text}{event.reply_to_text}{event.source}".encode()  # it can be stored
