import email.utils
import ssl
import time

import pytest

from hermes_desktop.agent.providers.failures import CallErrors
from hermes_desktop.agent.providers.http_call import Head, HttpCall, Wire
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.log_setup import SecretRedactor
from tests.fakes.model_server import ModelServer


def test_what_was_given_up_while_connecting_is_never_sent() -> None:
    with ModelServer() as server:
        wire = Wire(connect_s=5, write_s=5, proxy=None, tls=ssl.create_default_context())
        choice = ModelChoice("m", server.base_url, "k", "custom", "test")
        wire.begin()
        wire.give_up()
        call = HttpCall(wire, server.base_url, {}, b"{}", CallErrors(choice, SecretRedactor()))
        wire.end()
        assert call.take(0.3) is None
        assert not server.requests


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2", 2.0), (" 0.5 ", 0.5), ("-3", 0.0), ("", None), ("soon", None), ("inf", None)],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert Head(429, {"retry-after": value}).wait_s == seconds


def test_retry_after_as_a_date() -> None:
    in_an_hour = Head(429, {"retry-after": email.utils.formatdate(time.time() + 3600)}).wait_s
    assert in_an_hour is not None
    assert 3000 < in_an_hour < 4000
    assert Head(429, {"retry-after": email.utils.formatdate(0)}).wait_s == 0.0
    assert Head(429, {}).wait_s is None
