"""Who issued the certificate of a server, to tell a person why it is not trusted.

The handshake that failed does not tell it. So the server is asked once more, for its certificate
alone: nothing is sent over that connection.
"""

import contextlib
import socket
import ssl

_SECONDS = 3.0
_NAMES = (b"\x06\x03\x55\x04\x03", b"\x06\x03\x55\x04\x0a")  # common name, organisation
_LONG = 0x80


def issuer_of(host: str, port: int) -> str:
    """The issuer of a server's certificate; "" where it cannot be had. Blocks some seconds."""
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
    """The issuer's name in a certificate: its common name, else its organisation.

    Args:
        certificate: As it is sent, in DER.

    Raises:
        ValueError: It is no certificate.
        IndexError: Likewise.
    """
    fields = _parts(_parts(_parts(certificate)[0][1])[0][1])
    if fields and fields[0][0] & 0xA0 == 0xA0:  # noqa: PLR2004 - the version, which may be missing
        fields = fields[1:]
    # Behind it: serial number, algorithm, issuer.
    issuer = fields[2][1]
    found = {}
    for _, group in _parts(issuer):
        for _, pair in _parts(group):
            name, value = _parts(pair)[:2]
            found[bytes((0x06, len(name[1]))) + name[1]] = value[1].decode("utf-8", "replace")
    return next((found[each] for each in _NAMES if found.get(each)), "")


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """The elements that stand one behind the other, as (tag, content)."""
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
