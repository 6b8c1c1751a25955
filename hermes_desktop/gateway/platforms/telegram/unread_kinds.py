"""Names for message content that is neither text nor a known file, so that nothing is lost."""

import re
from collections.abc import Mapping
from typing import Any

_AROUND = re.compile(
    r"""(?: message_id|message_thread_id|direct_messages_topic|from|date|chat|edit_date|text|caption
    | entities|caption_entities|quote|via_bot|effect_id|media_group_id|reply_markup|external_reply
    | sender_(?:chat|boost_count|business_bot|tag)|business_connection_id
    | forward_(?:origin|from|from_chat|from_message_id|signature|sender_name|date)
    | reply_to_(?:message|story|checklist_task_id)|is_(?:topic_message|automatic_forward)
    | is_(?:from_offline|paid_post)|has_(?:protected_content|media_spoiler)|author_signature
    | paid_star_count|link_preview_options|suggested_post_info|show_caption_above_media )\Z""",
    re.VERBOSE,
)
"""Fields that accompany every message, whatever its content."""
_EVENT = re.compile(
    r"""new_chat_|left_chat_|delete_chat_|chat_|boost_|users?_shared|connected_website
    | group_chat_|supergroup_chat_|channel_chat_|message_auto_delete|migrate_|pinned_message
    | (?:general_)?forum_topic_|video_chat_|voice_chat_|write_access_|proximity_alert
    | successful_payment|refunded_payment|giveaway_c|suggested_post_|checklist_tasks_
    | (?:paid|direct)_message_price|.*_(?:changed|created|edited|closed|opened)$""",
    re.VERBOSE,
)
"""Fields that report an event in a chat and are not written by a sender."""


def unread_kind(raw: Mapping[str, Any]) -> str:
    """Return a text for an otherwise unreadable message; "" for an event without a sender."""
    found = [key for key, value in raw.items() if value and not _AROUND.match(key)]
    kinds = [key.replace("_", " ") for key in found if not _EVENT.match(key)]
    return f"[Something that cannot be read here: {', '.join(sorted(kinds))}]" if kinds else ""
