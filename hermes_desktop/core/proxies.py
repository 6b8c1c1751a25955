"""Proxy selection for an address, by the variables that curl and most programs use.

``HTTP_PROXY``, ``HTTPS_PROXY`` and ``ALL_PROXY`` name proxies. ``NO_PROXY`` lists what is reached
without one: names with their subdomains, addresses, networks (``10.0.0.0/8``, ``fd00::/8``),
addresses in brackets, each with or without a port; separated by commas or spaces. This machine
itself is always reached directly.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from hermes_desktop.core.errors import HermesError

_SCHEMES = ("http", "https", "socks5", "socks5h")
_SAME_AS = {"socks": "socks5"}
"""Spelling that GNOME and KDE use for the system's proxy."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SEPARATORS = re.compile(r"[,;\s]+")
_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?!\.))*\Z")
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*):(.*)\Z")
_SHOWN = 80

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class ProxySettingError(HermesError):
    """A variable names a proxy that cannot be used."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route to an address.

    Attributes:
        proxy: Address of the proxy, possibly with a password; None for a direct connection.
        named_by: The variable that names it.
        senseless: Invalid entries of ``NO_PROXY``, which were ignored.
    """

    proxy: str | None = None
    named_by: str = ""
    senseless: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Details of the route for when an address cannot be reached; "" for none."""
        return " ".join(part for part in (self._through(), self._passed_over()) if part)

    def _through(self) -> str:
        if self.proxy is None:
            return ""
        place = urlsplit(self.proxy).netloc.rpartition("@")[2]
        return f"The connection uses the proxy {place} ({self.named_by})."

    def _passed_over(self) -> str:
        if not self.senseless:
            return ""
        names = ", ".join(f"“{entry[:_SHOWN]}”" for entry in self.senseless[:3])
        verb = "is" if len(self.senseless) == 1 else "are"
        return f"NO_PROXY contains {names}, which {verb} not a host, address or network."


def route_to(url: str, proxies: Mapping[str, str] | None = None) -> Route:
    """Return the route to an address.

    Args:
        url: The target of a request.
        proxies: The proxies of the environment or the system, in the form of
            ``urllib.request.getproxies``; None to read them from there.

    Raises:
        ProxySettingError: The proxy for this address cannot be used; names the wrong variable.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if is_this_machine(host):
        return Route()
    found = _of_the_environment() if proxies is None else proxies
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    direct, senseless = _excepted(found.get("no", ""), host, port)
    name = parts.scheme if found.get(parts.scheme, "").strip() else "all"
    proxy = found.get(name, "").strip()
    if direct or not proxy:
        return Route(senseless=senseless)
    variable = f"{name.upper()}_PROXY"
    return Route(_usable(proxy, variable), variable, senseless)


def _of_the_environment() -> Mapping[str, str]:
    from urllib.request import getproxies  # noqa: PLC0415 - loads much that a window never needs

    return getproxies()


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine, by its name or its address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _usable(proxy: str, variable: str) -> str:
    """Return a proxy's address in a usable form."""
    text = proxy if "://" in proxy else f"http://{proxy}"
    scheme, _, rest = text.partition("://")
    scheme = _SAME_AS.get(scheme.lower(), scheme.lower())
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _unusable(variable, f"its address cannot be read ({error})") from None
    if scheme not in _SCHEMES:
        known = ", ".join(_SCHEMES)
        raise _unusable(variable, f"“{scheme[:_SHOWN]}” is not a supported kind of proxy ({known})")
    if not host or not host.isprintable() or " " in host:
        raise _unusable(variable, "it contains no host")
    return f"{scheme}://{rest}"


def _unusable(variable: str, why: str) -> ProxySettingError:
    return ProxySettingError(
        "The proxy cannot be used.",
        f"{variable} in the environment: {why}",
        f"Correct {variable}, for example http://proxy.example:8080, or remove it.",
    )


def _excepted(no_proxy: str, host: str, port: int | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether a host is reached without a proxy, and the invalid entries."""
    senseless: list[str] = []
    direct = False
    address = _address(host)
    for entry in _SEPARATORS.split(no_proxy):
        if not entry:
            continue
        fits = _fits(entry, host.lower(), port, address)
        if fits is None:
            senseless.append(entry)
        direct = direct or bool(fits)
    return direct, tuple(senseless)


def _fits(entry: str, host: str, port: int | None, address: _Address | None) -> bool | None:
    """Return whether an entry matches a host; None when the entry is invalid."""
    if entry == "*":
        return True
    if entry == "<local>":  # Windows: names without a dot
        return "." not in host and address is None
    wanted = entry.partition("://")[2].rstrip("/") if "://" in entry else entry
    with_port = None if _network(wanted) else _WITH_PORT.match(wanted)
    if with_port is None:
        return _names(wanted, host, address)
    name, number = with_port.groups()
    if not number.isdecimal():
        return None
    named = _names(name, host, address)
    return named and int(number) == port


def _names(wanted: str, host: str, address: _Address | None) -> bool | None:
    """Return whether a name, address or network matches a host; None when it is none of them."""
    network = _network(wanted)
    if network is not None:
        return address is not None and address in network
    name = wanted.removeprefix("*").strip(".").lower()
    if not _NAME.match(name):
        return None
    return address is None and (host == name or host.endswith(f".{name}"))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return a network, or a single address as the network that contains only it."""
    base, slash, length = text.partition("/")
    address = _address(base)
    if address is None or (slash and not length.isdecimal()):
        return None
    try:
        return ipaddress.ip_network(f"{address}/{length}" if slash else address, strict=False)
    except ValueError:
        return None


def _address(text: str) -> _Address | None:
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
