"""Addresses of the public internet, told apart from those of private and special networks."""

import ipaddress
import socket

_SPECIAL = tuple(
    ipaddress.ip_network(each)
    for each in (
        "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "64:ff9b::/96", "64:ff9b:1::/48",
        "::ffff:0:0/96", "fec0::/10", "2001::/23", "2002::/16", "3fff::/20", "5f00::/16",
    )
)  # fmt: skip
"""Networks that lead elsewhere or nowhere; which of them Python knows depends on its version.

Among them are the IPv6 forms of IPv4 addresses, which could disguise a private address.
"""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host. Blocking. Raises OSError, or UnicodeError for an odd name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def is_public(text: str) -> bool:
    """Return whether an address belongs to the internet and not to a private network."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if any(address in each for each in _SPECIAL):
        return False
    odd = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not odd
