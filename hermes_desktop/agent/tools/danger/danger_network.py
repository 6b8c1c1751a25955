"""Assessment of programs that download, upload, or run something on another machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from hermes_desktop.agent.tools.danger.danger_options import Check, Inner, with_next
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.shell_words import Word

_CURL_VALUES = "AbcCdDeEFHhKmoPQrtTuUwxXyYz"
_WGET_VALUES = "OPoaeiUTtQwlBADIRX"
_CURL_NAMES = {
    "d": "send", "F": "send", "T": "send", "K": "send", "n": "send", "X": "method", "o": "write",
    "D": "write", "c": "write", "O": "name",
}  # fmt: skip
_WGET_NAMES = {"O": "write", "P": "write", "o": "write", "a": "write", "e": "send", "i": "look"}
_LONG: Mapping[str, str] = {
    **dict.fromkeys(
        ("upload-file", "form", "form-string", "post-file", "body-file", "data", "data-raw",
         "data-binary", "data-ascii", "data-urlencode", "json", "post-data", "body-data", "config",
         "netrc", "netrc-file", "netrc-optional", "use-askpass", "execute", "url-query",
         "on-download-complete", "on-download-start"), "send"),
    **dict.fromkeys(("request", "method"), "method"),
    **dict.fromkeys(("output", "output-document", "directory-prefix", "dump-header", "cookie-jar",
                     "output-file", "append-output", "output-dir", "dir", "trace", "out"), "write"),
    **dict.fromkeys(("remote-name", "remote-name-all"), "name"),
}  # fmt: skip
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
_UNUSUAL = ("file:", "gopher:", "dict:", "smb:", "scp:", "sftp:", "ftp:", "ldap:", "telnet:")
_KEEPS_KEYS = re.compile(r"^(https?://)?(169\.254\.|metadata\.google|\[?fd00)")
_HERE = re.compile(r"^([^@\s]{1,64}@)?(localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0)$")


def _curl(args: Sequence[Word], places: Places, found: Found) -> None:
    _fetched(args, _CURL_VALUES, _CURL_NAMES, places, found)


def _wget(args: Sequence[Word], places: Places, found: Found) -> None:
    kinds = _fetched(args, _WGET_VALUES, _WGET_NAMES, places, found)
    if "write" not in kinds:
        _named_by_server(args, places, found)


def _fetched(
    args: Sequence[Word], values: str, names: Mapping[str, str], places: Places, found: Found
) -> set[str]:
    kinds: set[str] = set()
    for kind, value in _options(args, values, names):
        kinds.add(kind)
        if kind == "send" or (kind == "method" and value.text.upper() not in _HARMLESS):
            found.add("sends-data", "sends data to a server")
        elif kind == "write":
            found.write(value, places, content=True)
        elif kind == "name":
            _named_by_server(args, places, found)
    for word in args:
        if word.text.startswith(_UNUSUAL):
            found.add("other-machine", "accesses files or machines in an unusual way")
        if _KEEPS_KEYS.match(word.text):
            found.add("other-machine", "requests keys from the cloud provider of this machine")
        if word.opaque:
            found.add("sends-data", "sends data that is only known at run time to a server")
    return kinds


def _named_by_server(args: Sequence[Word], places: Places, found: Found) -> None:
    for word in args:
        if word.text.startswith(("http://", "https://")):
            try:
                name = urlsplit(word.text).path.rpartition("/")[2]
            except ValueError:
                continue
            if name:
                found.written.add(places.absolute(name))


def _options(
    args: Sequence[Word], values: str, names: Mapping[str, str]
) -> Iterator[tuple[str, Word]]:
    """Yield the relevant options, each with its value."""
    for word, following in with_next(args):
        text = word.text
        if text.startswith("--"):
            name, sign, value = text[2:].partition("=")
            if kind := _LONG.get(name):
                yield kind, Word(value, word.opaque) if sign else following
        elif text.startswith("-"):
            for at, letter in enumerate(text[1:], 2):
                takes = letter in values
                if kind := names.get(letter):
                    rest = text[at:]
                    yield kind, Word(rest, word.opaque) if takes and rest else following
                if takes:
                    break


def _http(args: Sequence[Word], _places: Places, found: Found) -> None:
    """Assess ``http`` and similar programs: a method as a word, and fields that are sent."""
    texts = [each.text for each in args if not each.text.startswith("-")]
    sends = {"POST", "PUT", "PATCH", "DELETE"} & {each.upper() for each in texts[:1]}
    if sends or any(re.match(r"^[\w-]+(:?=|=@|@)", each) for each in texts[1:]):
        found.add("sends-data", "sends data to a server")


def _ssh(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    """Return the remote command if it may be run on this machine; other machines are not judged."""
    here = next((at for at, each in enumerate(args) if _HERE.match(each.text)), None)
    return [] if here is None else [" ".join(each.text for each in args[here + 1 :])]


FETCHING: Mapping[str, Check] = {
    "curl": _curl, "wget": _wget, "aria2c": _wget, "http": _http, "https": _http, "xh": _http,
    "ssh": _ssh,
}  # fmt: skip
