"""Updates that are parts of one message."""

from typing import Any

from hermes_desktop.gateway.platforms.telegram.poller import groups_of, may_go_on
from hermes_desktop.gateway.platforms.telegram.records import Attachment, Incoming


def update(number: int, text: str = "", user: str = "42", **more: Any) -> Incoming:
    fields = {"chat_id": "-100", "message_id": str(number), "user_id": user, "text": text}
    return Incoming(number, "message", **fields, **more)


def picture(number: int, user: str = "42", album: str = "g", text: str = "") -> Incoming:
    files = (Attachment("photo", f"p{number}"),)
    return update(number, text, user, album_id=album, attachments=files)


def numbers(batch: list[Incoming]) -> list[list[int]]:
    return [[each.update_id for each in group] for group in groups_of(batch)]


def test_an_album_is_one_message_whoever_writes_between() -> None:
    batch = [picture(1), update(2, "hi", "66"), picture(3, text="look"), picture(4, "66", "h")]
    assert numbers(batch) == [[1, 3], [2], [4]]


def test_two_albums_of_one_person_are_two() -> None:
    assert numbers([picture(1), picture(2), picture(3, album="h")]) == [[1, 2], [3]]


def test_the_order_of_what_one_person_says_stays() -> None:
    long = "x" * 4090
    assert numbers([update(1, long), update(2, "/stop"), update(3, "rest")]) == [[1], [2], [3]]
    assert numbers([update(1, long), update(2, "b", "66"), update(3, "rest")]) == [[1, 3], [2]]


def test_what_was_handed_on_is_no_rest_of_what_was_written() -> None:
    long = update(1, "x" * 4090, forwarded_from="Ann")
    assert numbers([long, update(2, "what is this?")]) == [[1], [2]]
    assert numbers([long, update(2, "rest", forwarded_from="Ann")]) == [[1, 2]]


def test_more_may_come_of_what_anybody_said_last() -> None:
    assert may_go_on([picture(1), update(2, "hi", "66")])
    assert not may_go_on([picture(1), update(2, "hi")])
    assert not may_go_on([])
