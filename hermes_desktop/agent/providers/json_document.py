"""One small JSON document from a public address, requested without anything that identifies us."""

import time
from typing import Any
from urllib.parse import urlsplit

from hermes_desktop.agent.bounded_decoding import ACCEPTED, UndecodableError
from hermes_desktop.agent.providers.response_values import get_json
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.proxies import is_this_machine, route_to

MOST_BYTES = 64 * 1024
PATIENCE_S = 10.0
_OK = 200


class DocumentError(HermesError):
    """A document could not be fetched."""


def is_acceptable(url: str) -> bool:
    """Return whether an address is encrypted, or one of this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))


def fetch_document(url: str, tls: SharedTls, *, patience_s: float = PATIENCE_S) -> Any:
    """Return the decoded document. Blocking.

    No cookie and no name of a program are sent, and redirects are not followed.

    Args:
        url: Its address; see :func:`is_acceptable`.
        tls: Which certificates are trusted.
        patience_s: The time-out of the whole request, and of each of its waits.

    Raises:
        DocumentError: It could not be fetched, or is not JSON; the detail says why.
    """
    if not is_acceptable(url):
        raise _failed("The address is not an https:// address.")
    import httpx  # noqa: PLC0415 - needed only for a request

    until = time.monotonic() + patience_s
    try:
        route = route_to(url)
        with httpx.Client(
            timeout=patience_s,
            trust_env=False,
            follow_redirects=False,
            proxy=route.proxy,
            verify=tls.context(),
        ) as client:
            # The library would add its own name and version.
            client.headers.pop("User-Agent", None)
            client.headers.update({"Accept": "application/json", "Accept-Encoding": ACCEPTED})
            status, document = get_json(client, url, until=until, most=MOST_BYTES)
    except TimeoutError:
        raise _failed("The response is too long, or too slow.") from None
    except HermesError as error:
        raise _failed(str(error)) from error
    except (httpx.HTTPError, httpx.InvalidURL, UndecodableError, OSError, ValueError) as error:
        raise _failed(f"The request failed ({type(error).__name__}).") from error
    if status != _OK:
        raise _failed(f"The server answered {status}.")
    if document is None:
        raise _failed("The response is not JSON.")
    return document


def _failed(why: str) -> DocumentError:
    return DocumentError("The document could not be fetched.", why)
