"""Proxies by the rules of curl: what leads where, and what is said of nonsense."""

import pytest

from hermes_desktop.core.proxies import ProxySettingError, route_to

PROXY = "http://proxy.example:8080"


def is_direct(no_proxy: str, url: str) -> bool:
    return route_to(url, {"http": PROXY, "https": PROXY, "no": no_proxy}).proxy is None


@pytest.mark.parametrize(
    ("no_proxy", "url"),
    [
        ("example.com", "https://example.com/v1"),
        ("example.com", "https://api.example.com/v1"),
        (".example.com", "https://example.com/v1"),
        ("*.example.com", "https://api.example.com/v1"),
        ("EXAMPLE.com.", "https://api.example.COM/v1"),
        ("other,example.com", "https://example.com"),
        ("other example.com", "https://example.com"),
        ("*", "https://example.com"),
        ("10.0.0.0/8", "http://10.20.30.40:11434/v1"),
        ("10.1.2.3/8", "http://10.20.30.40/v1"),
        ("192.168.1.5", "http://192.168.1.5/v1"),
        ("fd00::/8", "http://[fd07:b51a::1]:8000/v1"),
        ("10.0.0.0/8,fd07:b51a:cc66:f0::/64", "http://[fd07:b51a:cc66:f0::9]/v1"),
        ("[fd00::1]", "http://[fd00::1]/v1"),
        ("[fd00::1]:8000", "http://[fd00::1]:8000/v1"),
        ("fe80::/10", "http://[fe80::1%25eth0]/v1"),
        ("::ffff:10.0.0.1", "http://10.0.0.1/v1"),
        ("example.com:443", "https://example.com/v1"),
        ("http://example.com", "https://example.com/v1"),
        ("<local>", "http://nas/v1"),
        ("", "http://127.0.0.1:9/v1"),
        ("", "http://[::1]:9/v1"),
        ("", "http://localhost:9/v1"),
    ],
)
def test_what_is_reached_directly(no_proxy: str, url: str) -> None:
    assert is_direct(no_proxy, url)


@pytest.mark.parametrize(
    ("no_proxy", "url"),
    [
        ("", "https://example.com"),
        ("ample.com", "https://example.com"),
        ("example.com", "https://example.com.org"),
        ("10.0.0.0/8", "http://11.0.0.1/v1"),
        ("10.0.0.0/8", "http://10.example/v1"),
        ("fd00::/8", "http://[fe00::1]/v1"),
        ("example.com:8443", "https://example.com"),
        ("<local>", "http://nas.example/v1"),
        ("::1,fe80::/10", "http://model.example"),
    ],
)
def test_what_is_reached_by_the_proxy(no_proxy: str, url: str) -> None:
    assert not is_direct(no_proxy, url)


@pytest.mark.parametrize(
    "entry", ["http://x:y", "a:b:c", "10.0.0.0/99", "fe80::zz", "[::1", "ü", "a..b"]
)
def test_an_entry_without_sense_is_passed_over_and_named(entry: str) -> None:
    route = route_to("https://example.com", {"no": f"{entry},other", "https": PROXY})
    assert (route.proxy, route.senseless) == (PROXY, (entry,))
    assert f"“{entry}”" in route.note
    assert is_direct(f"{entry},example.com", "https://example.com")


def test_no_proxy_alone_needs_no_proxy() -> None:
    assert route_to("https://example.com", {"no": "fe80::/10,[::1]"}).note == ""


@pytest.mark.parametrize(
    ("proxies", "url", "proxy"),
    [
        ({"http": PROXY}, "https://example.com", None),
        ({"all": PROXY}, "https://example.com", PROXY),
        ({"all": PROXY, "https": "other:1"}, "https://example.com", "http://other:1"),
        ({"all": "socks://h:1080/"}, "https://example.com", "socks5://h:1080/"),
        ({"all": "SOCKS5h://h:1080"}, "https://example.com", "socks5h://h:1080"),
        ({"https": "http://me:pw@h:1"}, "https://example.com", "http://me:pw@h:1"),
        ({"https": " "}, "https://example.com", None),
    ],
)
def test_which_proxy(proxies: dict[str, str], url: str, proxy: str | None) -> None:
    route = route_to(url, proxies)
    assert route.proxy == proxy
    assert "pw" not in route.note


@pytest.mark.parametrize(
    ("proxy", "why"),
    [
        ("socks9://h", "socks9"),
        ("http://h:99999", "port"),
        ("http://h:x", "x"),
        ("http://", "no host"),
        ("http://[::1", "read"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_with_its_variable(proxy: str, why: str) -> None:
    with pytest.raises(ProxySettingError) as caught:
        route_to("https://example.com", {"https": proxy})
    assert "HTTPS_PROXY" in caught.value.detail
    assert "HTTPS_PROXY" in caught.value.hint
    assert why.lower() in caught.value.detail.lower()
