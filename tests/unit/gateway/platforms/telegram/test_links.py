"""Links that look like another place than the one they lead to."""

import pytest

from hermes_desktop.gateway.platforms.telegram.markup import formatted, is_misleading


@pytest.mark.parametrize(
    ("shown", "address", "elsewhere"),
    [
        ("the manual", "https://x.org/manual", False),
        ("https://bank.com", "https://evil.example/x", True),
        ("bank.com/login", "https://evil.example/bank.com/login", True),
        ("https://bank.com", "https://bank.com@evil.example/", True),
        ("192.168.0.1", "http://10.0.0.1/", True),
        ("www.bank.com", "https://bank.com/login", False),
        ("Bank.com", "https://bank.com", False),
        ("http://bank.com", "https://bank.com/a?b#c", False),
        ("@boss", "tg://user?id=66", True),
        ("version 1.2", "https://x.org", False),
        ("e.g. this", "https://x.org", False),
        ("https://bank.com", "https://[::1", True),
    ],
)
def test_which_do(shown: str, address: str, *, elsewhere: bool) -> None:
    assert is_misleading(shown, address) is elsewhere


def test_their_address_stands_beside_them() -> None:
    shown = formatted("[https://bank.com](https://evil.example/x) and [words](https://x.org)")
    assert shown.text == "https://bank.com (https://evil.example/x) and words"
    assert [mark.detail for mark in shown.marks] == ["https://x.org"]
