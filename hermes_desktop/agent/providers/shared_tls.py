"""TLS trust settings: one context for all connections, since each costs 0.8 MiB and 20 ms.

By default the certificates of the HTTP library and of the system are trusted. A variable that
other programs know replaces them: ``HERMES_CA_BUNDLE``, ``SSL_CERT_FILE``, ``REQUESTS_CA_BUNDLE``
or ``CURL_CA_BUNDLE``, the first that is set, and ``SSL_CERT_DIR``. Certificates named by an
endpoint's own entry in config.yaml are trusted in addition, for that endpoint only.

Where a certificate is not trusted its issuer explains why. A failed handshake does not provide it,
so a second connection is made to get the certificate alone: nothing is sent over that connection.
"""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock

RENEWED_S = 86_400.0
BUNDLE_VARIABLES = ("HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_FOLDER_VARIABLE = "SSL_CERT_DIR"


class CertificatesError(OSError):
    """Configured certificates cannot be read; the message names them and their setting."""


class SharedTls:
    """A cache of TLS contexts, created when first needed, and again once a day.

    Root certificates on the disk change while a program runs for months. Thread-safe.

    Args:
        clock: Measures the day.
        environ: Where the variables are looked up; None: the process environment.
    """

    def __init__(
        self, clock: Clock | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._environ = os.environ if environ is None else environ
        self._lock = threading.Lock()
        self._contexts: dict[str, tuple[ssl.SSLContext, float]] = {}

    def context(self, ca_bundle: str = "") -> ssl.SSLContext:
        """Return the context for a new connection. Blocks.

        Args:
            ca_bundle: A file with additional certificates, as named by a setting.

        Raises:
            CertificatesError: Certificates cannot be read.
        """
        with self._lock:
            now = self._clock.monotonic()
            context, made_at = self._contexts.get(ca_bundle, (None, 0.0))
            if context is None or now - made_at > RENEWED_S:
                context = self._usual()
                if ca_bundle:
                    _load(context, Path(ca_bundle).expanduser(), "The setting ca_bundle")
                self._contexts[ca_bundle] = (context, now)
            return context

    def _usual(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        named = False
        for variable in (*BUNDLE_VARIABLES, _FOLDER_VARIABLE):
            value = (self._environ.get(variable) or "").strip()
            if value and (not named or variable == _FOLDER_VARIABLE):
                _load(context, Path(value).expanduser(), variable)
                named = True
        if named:
            return context
        import httpx  # noqa: PLC0415 - needed only for a call

        context = httpx.create_ssl_context(trust_env=False)
        # A company's own authority is installed there.
        context.load_default_certs()
        return context


def _load(context: ssl.SSLContext, place: Path, named_by: str) -> None:
    if "\0" in str(place):
        raise CertificatesError(f"{named_by} contains a NUL character")
    try:
        if place.is_dir():
            context.load_verify_locations(capath=str(place))
        else:
            context.load_verify_locations(cafile=str(place))
    except ssl.SSLError as error:
        raise CertificatesError(
            f"{named_by} refers to {place}, which contains no readable certificate"
        ) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CertificatesError(f"{named_by} refers to {place}: {reason}") from error


_HANDSHAKE_S = 3.0
_NAME_OIDS = (b"\x06\x03\x55\x04\x03", b"\x06\x03\x55\x04\x0a")  # common name, organization
_LONG_FORM = 0x80


def issuer_of(host: str, port: int) -> str:
    """Return the issuer of a server's certificate; "" if it is unavailable. Blocks some seconds."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with contextlib.suppress(OSError, ValueError, IndexError):
        with (
            socket.create_connection((host, port), timeout=_HANDSHAKE_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            certificate = secured.getpeercert(binary_form=True)
        return issuer_in(certificate) if certificate else ""
    return ""


def issuer_in(certificate: bytes) -> str:
    """Return the issuer's name in a certificate: its common name, else its organization.

    Args:
        certificate: The certificate in DER, as it is sent.

    Raises:
        ValueError: It is not a certificate.
        IndexError: Likewise.
    """
    fields = _parts(_parts(_parts(certificate)[0][1])[0][1])
    if fields and fields[0][0] & 0xA0 == 0xA0:  # noqa: PLR2004 - the version, which may be missing
        fields = fields[1:]
    # Followed by: serial number, algorithm, issuer.
    issuer = fields[2][1]
    found = {}
    for _, group in _parts(issuer):
        for _, pair in _parts(group):
            name, value = _parts(pair)[:2]
            found[bytes((0x06, len(name[1]))) + name[1]] = value[1].decode("utf-8", "replace")
    return next((found[each] for each in _NAME_OIDS if found.get(each)), "")


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """Return the consecutive elements, as (tag, content)."""
    parts = []
    at = 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & _LONG_FORM:
            size = length & ~_LONG_FORM
            length = int.from_bytes(data[at : at + size])
            at += size
        if at + length > len(data):
            raise ValueError("This is not a certificate")
        parts.append((tag, data[at : at + length]))
        at += length
    return parts
