"""The issuer of a server's certificate, to explain to the user why it is not trusted.

A failed handshake does not provide it. So a second connection is made to get the certificate
alone: nothing is sent over that connection.
"""

import contextlib
import socket
import ssl

_SECONDS = 3.0
_NAMES = (b"\x06\x03\x55\x04\x03", b"\x06\x03\x55\x04\x0a")  # common name, organization
_LONG = 0x80


def issuer_of(host: str, port: int) -> str:
    """Return the issuer of a server's certificate; "" if it is unavailable. Blocks some seconds."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with contextlib.suppress(OSError, ValueError, IndexError):
        with (
            socket.create_connection((host, port), timeout=_SECONDS) as plain,
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
    return next((found[each] for each in _NAMES if found.get(each)), "")


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """Return the consecutive elements, as (tag, content)."""
    parts = []
    at = 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & _LONG:
            size = length & ~_LONG
            length = int.from_bytes(data[at : at + size])
            at += size
        if at + length > len(data):
            raise ValueError("This is no certificate")
        parts.append((tag, data[at : at + length]))
        at += length
    return parts
