"""Whom the provider trusts, and what it says of a server that it does not trust."""

import datetime as dt
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import trustme

from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.providers.shared_tls import (
    BUNDLE_VARIABLES,
    CertificatesError,
    SharedTls,
    issuer_in,
)
from hermes_desktop.agent.types import ChatRequest, ModelChoice, TextDelta
from hermes_desktop.core.errors import CannotReachError
from tests.fakes import model_server as fake
from tests.fakes.connect_proxy import ConnectProxy
from tests.fakes.model_server import ModelServer

Serving = Callable[..., AbstractContextManager[ModelServer]]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(organization_name="Example Works", organization_unit_name="Network")


@pytest.fixture
def bundle(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture
def serving(authority: trustme.CA) -> Serving:
    @contextmanager
    def _serve(*names: str, until: dt.datetime | None = None) -> Iterator[ModelServer]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = authority.issue_cert(*(names or ("127.0.0.1",)), not_after=until)
        certificate.configure_cert(context)
        with ModelServer(tls=context) as server:
            yield server

    return _serve


def _asked(server: ModelServer, tls: SharedTls, ca_bundle: str = "", **more: bool) -> str:
    choice = ModelChoice(
        "m", server.base_url, "sk-secret-1", "custom", "t", ca_bundle=ca_bundle, **more
    )
    provider = OpenAICompatibleProvider(choice, tls=tls)
    request = ChatRequest("m", ({"role": "user", "content": "Hello"},))
    try:
        events = list(provider.stream(request, cancel=threading.Event()))
    finally:
        provider.close()
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _refusal(server: ModelServer, tls: SharedTls | None = None, **more: bool) -> CannotReachError:
    with pytest.raises(CannotReachError) as caught:
        _asked(server, tls or SharedTls(environ={}), **more)
    assert not server.requests  # nothing was sent, the key least of all
    return caught.value


@pytest.mark.parametrize("variable", BUNDLE_VARIABLES)
def test_an_authority_named_by_a_variable(serving: Serving, bundle: Path, variable: str) -> None:
    with serving() as server:
        assert _asked(server, SharedTls(environ={variable: str(bundle)}))


def test_the_first_variable_counts(serving: Serving, bundle: Path, self_signed: Path) -> None:
    names = {"SSL_CERT_FILE": str(self_signed), "REQUESTS_CA_BUNDLE": str(bundle)}
    with serving() as server:
        assert "unable to get local issuer" in _refusal(server, SharedTls(environ=names)).detail
        assert _asked(server, SharedTls(environ=names | {"HERMES_CA_BUNDLE": str(bundle)}))


def test_an_authority_of_one_endpoint_only(serving: Serving, bundle: Path) -> None:
    tls = SharedTls(environ={})
    with serving() as server:
        assert _asked(server, tls, str(bundle))
        server.requests.clear()
        _refusal(server, tls)


def test_a_stranger_is_named(serving: Serving) -> None:
    with serving() as server:
        error = _refusal(server)
    assert "unable to get local issuer certificate" in error.detail
    assert "issued by “Example Works”" in error.detail
    assert "model.ca_bundle" in error.hint


def test_a_certificate_is_looked_at_whatever_the_settings_say(serving: Serving) -> None:
    with serving() as server:
        assert "ssl_verify: false is ignored" in _refusal(server, wants_no_check=True).hint
        assert "ssl_verify" not in _refusal(server).hint


def test_another_name(serving: Serving, bundle: Path) -> None:
    with serving("models.example") as server:
        error = _refusal(server, SharedTls(environ={"SSL_CERT_FILE": str(bundle)}))
    assert "mismatch" in error.detail.lower()
    assert "model.base_url" in error.hint


def test_one_that_has_expired(serving: Serving, bundle: Path) -> None:
    past = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)
    with serving(until=past) as server:
        error = _refusal(server, SharedTls(environ={"SSL_CERT_FILE": str(bundle)}))
    assert "expired" in error.detail
    assert "renew" in error.hint


@pytest.mark.parametrize("content", [None, "no certificate", ""])
def test_a_bundle_that_is_none(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "bundle.pem"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    choice = ModelChoice("m", "https://127.0.0.1:1/v1", None, "custom", "t")
    tls = SharedTls(environ={"SSL_CERT_FILE": str(path)})
    events = OpenAICompatibleProvider(choice, tls=tls).stream(
        ChatRequest("m", ()), cancel=threading.Event()
    )
    with pytest.raises(CannotReachError) as caught:
        list(events)
    assert "SSL_CERT_FILE" in caught.value.detail
    assert "bundle.pem" in caught.value.detail


def test_issuers_of_certificates(authority: trustme.CA, self_signed: Path) -> None:
    made = authority.issue_cert("a.example").cert_chain_pems[0].bytes().decode()
    assert issuer_in(ssl.PEM_cert_to_DER_cert(made)) == "Example Works"
    for nonsense in (b"\x30", b"\x30\x82\xff\xff\x00", b"\x30\x02\x30\x00", b"text"):
        with pytest.raises((ValueError, IndexError)):
            issuer_in(nonsense)


def test_a_socks_proxy_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:1")
    choice = ModelChoice("m", "http://model.example/v1", None, "custom", "t")
    with pytest.raises(CannotReachError) as caught:
        list(
            OpenAICompatibleProvider(choice).stream(ChatRequest("m", ()), cancel=threading.Event())
        )
    assert "SOCKS" in caught.value.detail
    assert "socksio" in caught.value.hint


def test_hosts_that_are_not_asked_by_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "direct.invalid")
        choice = ModelChoice("m", "http://model.invalid/v1", None, "custom", "t")
        provider = OpenAICompatibleProvider(choice)
        request = ChatRequest("m", ({"role": "user", "content": "Hello"},))
        assert list(provider.stream(request, cancel=threading.Event()))
        assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"
        proxy.script(fake.error(407, "Proxy Authentication Required"))
        with pytest.raises(Exception, match="requires a user name and password"):
            list(provider.stream(request, cancel=threading.Event()))
        provider.close()
        direct = ModelChoice("m", "http://direct.invalid/v1", None, "custom", "t")
        with pytest.raises(CannotReachError, match=r"the host does not exist"):
            list(OpenAICompatibleProvider(direct).stream(request, cancel=threading.Event()))


def _by_proxy(
    monkeypatch: pytest.MonkeyPatch, proxy: ConnectProxy, bundle: Path
) -> OpenAICompatibleProvider:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://ada:wonder@{proxy.address}")
    choice = ModelChoice("m", "https://model.invalid/v1", "sk-secret-1", "custom", "t")
    return OpenAICompatibleProvider(choice, tls=SharedTls(environ={"SSL_CERT_FILE": str(bundle)}))


REQUEST = ChatRequest("m", ({"role": "user", "content": "Hello"},))


def test_https_through_a_proxy(
    serving: Serving, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("model.invalid") as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with ConnectProxy(port) as proxy:
            provider = _by_proxy(monkeypatch, proxy, bundle)
            events = list(provider.stream(REQUEST, cancel=threading.Event()))
            provider.close()
        assert TextDelta("You") in events
        ((asked, who),) = proxy.seen
        assert asked.startswith("CONNECT model.invalid:443")
        assert who.startswith("Basic ")
        # The key is for the model, behind the encryption; the proxy's password is not.
        assert server.requests[0].headers["Authorization"] == "Bearer sk-secret-1"
        assert "Proxy-Authorization" not in server.requests[0].headers


def test_a_proxy_that_lets_nobody_through(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ConnectProxy(status="407 Proxy Authentication Required") as proxy:
        provider = _by_proxy(monkeypatch, proxy, bundle)
        with pytest.raises(CannotReachError) as caught:
            list(provider.stream(REQUEST, cancel=threading.Event()))
        provider.close()
    assert "407" in caught.value.detail
    assert "HTTPS_PROXY" in caught.value.hint
    assert "wonder" not in str(caught.value)


def test_behind_a_proxy_nobody_is_led_past_it(
    serving: Serving, self_signed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("model.invalid") as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with ConnectProxy(port) as proxy:
            provider = _by_proxy(monkeypatch, proxy, self_signed)
            with pytest.raises(CannotReachError, match="unable to get local issuer") as caught:
                list(provider.stream(REQUEST, cancel=threading.Event()))
            provider.close()
        assert len(proxy.seen) == 1
    assert "issued by" not in caught.value.detail


def test_a_path_with_a_nul_character_is_named() -> None:
    with pytest.raises(CertificatesError, match="contains a NUL character"):
        SharedTls({}).context("/tmp/a\0b")
