"""Detection of secrets in a settings file by their names, and their masking or removal."""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import yaml

from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.settings.yaml_tree import ConfigText, Node, parse_tree

MASK = "[secret]"
_SECRET_KEY = re.compile(
    r"(?:^|.*[_-])(?:tokens?|secrets?|passw(?:or)?d|pass|pin|api|(?:api)?_?keys?|auth|credentials?)",
    re.IGNORECASE,
)
_IN_REMARK = re.compile(
    r"^(?P<head>[ \t]*#[# \t-]*[\"']?(?P<key>[\w.-]+)[\"']?[ \t]*[:=][ \t]*)(?P<value>\S.*)$",
    re.MULTILINE,
)
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_NOT_SECRET = frozenset({"max_tokens", "max_output_tokens", "tokens"})


def is_secret_key(name: str) -> bool:
    """Return whether a value of that name must be hidden."""
    return name.lower() not in _NOT_SECRET and _SECRET_KEY.fullmatch(name) is not None


def is_reference(value: str) -> bool:
    """Return whether it only refers to a variable, which is not a secret."""
    return _REFERENCE.fullmatch(value.strip()) is not None


def literal_secrets(config: Mapping[str, Any]) -> tuple[Mapping[str, str], ...]:
    """Return the variables and headers that config.yaml sets for servers of tools, by name.

    References to variables are left out. Never raises, whatever the file contains.
    """
    servers = config.get("mcp_servers")
    sections = [
        server.get(name)
        for server in (servers.values() if isinstance(servers, Mapping) else ())
        if isinstance(server, Mapping)
        for name in ("env", "headers")
    ]
    return tuple(
        {
            str(name).replace("-", "_"): _without_scheme(value)
            for name, value in section.items()
            if isinstance(value, str) and not is_reference(value)
        }
        for section in sections
        if isinstance(section, Mapping)
    )


def _without_scheme(value: str) -> str:
    """Return the secret of an ``Authorization`` header without the word before it."""
    return re.sub(r"^(bearer|basic|token)\s+", "", value.strip(), flags=re.IGNORECASE)


def masked_config(config: ConfigText) -> str:
    """Return the text of a settings file with secrets hidden; all of it if it cannot be parsed.

    Hidden are values with the name of a secret, also in comments, and values that look like
    secrets.
    """
    text = config.text
    try:
        root, _ = config.tree
    except (yaml.YAMLError, ValueError, RecursionError):
        return f"{MASK}\n"
    if root is not None:
        text = _replaced(text, list(_secret_nodes(root)), MASK)
    return SecretRedactor().clean(mask_comments(text))


def secret_values(config: ConfigText) -> tuple[str, ...]:
    """Return the values that have the name of a secret; none where the file cannot be parsed."""
    try:
        root, _ = config.tree
    except (yaml.YAMLError, ValueError, RecursionError):
        return ()
    return () if root is None else tuple(node.text for node in _secret_nodes(root))


def mask_comments(text: str) -> str:
    """Return the text with secrets in comments hidden, such as disabled settings."""

    def hidden(match: "re.Match[str]") -> str:
        secret = is_secret_key(match["key"]) and not is_reference(match["value"])
        return f"{match['head']}{MASK}" if secret else match[0]

    return _IN_REMARK.sub(hidden, text)


def remove_values(text: str, values: AbstractSet[str]) -> str:
    """Return the text with these values replaced by empty ones, wherever they occur."""
    try:
        root, _ = parse_tree(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        root = None
    if root is not None:
        found = [n for n in root.walk() if n.kind == "scalar" and n.text in values and n.text]
        text = _replaced(text, found, '""')
    for value in values:  # in comments, and where the text cannot be parsed
        text = text.replace(value, "") if value else text
    return text


def _secret_nodes(node: Node) -> Iterator[Node]:
    for key, value in node.pairs:
        if is_secret_key(key.text) and value.kind != "mapping":
            listed = value.items if value.kind == "list" else (value,)
            yield from (each for each in listed if each.text and not is_reference(each.text))
            if value.kind == "scalar":
                continue
        yield from _secret_nodes(value)
    for item in node.items:
        yield from _secret_nodes(item)


def _replaced(text: str, nodes: list[Node], by: str) -> str:
    for node in sorted(nodes, key=lambda each: each.start, reverse=True):
        text = text[: node.start] + by + text[node.end :]
    return text
