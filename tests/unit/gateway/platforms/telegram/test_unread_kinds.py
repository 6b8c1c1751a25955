"""What came and is neither a text nor a file that is known here."""

from typing import Any

import pytest

from hermes_desktop.gateway.platforms.telegram.incoming import unread_kind

AROUND: dict[str, Any] = {
    "message_id": 5, "date": 9, "chat": {"id": 42}, "from": {"id": 42}, "edit_date": 3,
    "forward_origin": {"type": "user"}, "reply_to_message": {"message_id": 1}, "effect_id": "1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"story": {"id": 1}}, "[Content that cannot be read here: story]"),
        ({"paid_media": {}, "game": {"title": "x"}}, "[Content that cannot be read here: game]"),
        ({"a_kind_of_2031": {"x": 1}}, "[Content that cannot be read here: a kind of 2031]"),
        ({"checklist": {"title": "x"}}, "[Content that cannot be read here: checklist]"),
        ({"giveaway": {"winner_count": 1}}, "[Content that cannot be read here: giveaway]"),
        ({"pinned_message": {"message_id": 1}}, ""),
        ({"new_chat_members": [{"id": 1}]}, ""),
        ({"group_chat_created": True}, ""),
        ({"forum_topic_created": {"name": "x"}}, ""),
        ({"message_auto_delete_timer_changed": {"x": 1}}, ""),
        ({"checklist_tasks_done": {"x": 1}}, ""),
        ({"giveaway_completed": {"x": 1}}, ""),
        ({"migrate_to_chat_id": -1}, ""),
        ({}, ""),
    ],
)
def test_it_is_named_unless_nobody_said_it(more: dict[str, Any], words: str) -> None:
    assert unread_kind(AROUND | more) == words
