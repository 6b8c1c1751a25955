"""Grouping of updates that form one message: an album, or a text that was too long."""

from collections.abc import Sequence

from hermes_desktop.gateway.platforms.telegram.records import Incoming

_Place = tuple[str, str, str]


def groups_of(batch: Sequence[Incoming]) -> list[list[Incoming]]:
    """Group updates in order; related ones are grouped even if other senders wrote in between."""
    groups: list[list[Incoming]] = []
    latest: dict[_Place, list[Incoming]] = {}
    for update in batch:
        place = (update.chat_id, update.user_id, update.thread_id)
        group = latest.get(place)
        if group is not None and _belongs_to(update, group[-1]):
            group.append(update)
        else:
            latest[place] = [update]
            groups.append(latest[place])
    return groups


def may_go_on(batch: Sequence[Incoming]) -> bool:
    """Return whether further parts of a message may be pending."""
    latest = {(each.chat_id, each.user_id, each.thread_id): each for each in batch}
    return any(each.goes_on for each in latest.values())


def _belongs_to(update: Incoming, last: Incoming) -> bool:
    if not last.goes_on or update.album_id != last.album_id:
        return False
    if not update.kind == last.kind == "message":
        return False
    if update.album_id:
        return True
    texts = bool(update.text) and update.forwarded_from == last.forwarded_from
    return texts and not update.attachments and not update.text.startswith("/")
