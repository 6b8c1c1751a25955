"""All tools, and the selection for a conversation."""

from collections.abc import Mapping
from typing import Any, Final

from hermes_desktop.agent.tools.asking.approvals import HERE, sandbox_choice
from hermes_desktop.agent.tools.asking.ask_access import ASK_ACCESS
from hermes_desktop.agent.tools.asking.clarify import CLARIFY
from hermes_desktop.agent.tools.base import Tool
from hermes_desktop.agent.tools.files.file_tools import PATCH, READ_FILE, WRITE_FILE
from hermes_desktop.agent.tools.files.search_files import SEARCH_FILES
from hermes_desktop.agent.tools.memory import MEMORY
from hermes_desktop.agent.tools.processes.processes import PROCESS
from hermes_desktop.agent.tools.processes.terminal import TERMINAL
from hermes_desktop.agent.tools.session_search import SESSION_SEARCH
from hermes_desktop.agent.tools.todo import TODO
from hermes_desktop.agent.tools.web.web_fetch import WEB_FETCH

TOOLS: Final[tuple[Tool, ...]] = (
    READ_FILE,
    WRITE_FILE,
    PATCH,
    SEARCH_FILES,
    TERMINAL,
    PROCESS,
    ASK_ACCESS,
    SESSION_SEARCH,
    WEB_FETCH,
    TODO,
    MEMORY,
    CLARIFY,
)
_ELSEWHERE = frozenset({"web", "todo", "clarify"})


def enabled_tools(config: Mapping[str, Any], platform: str) -> tuple[Tool, ...]:
    """Return the tools of a conversation, in a fixed order.

    The user at this machine gets all. Chats get those that access nothing here; more only where
    ``platform_toolsets.<platform>`` names them. ``agent.disabled_toolsets`` removes tools from all.
    Without a sandbox for commands there is no ``ask_access``.

    Args:
        config: The decoded config.yaml; invalid values in it are ignored.
        platform: Where the chat takes place.
    """
    everything = frozenset(tool.toolset for tool in TOOLS)
    wanted = everything if platform in HERE else _ELSEWHERE
    named = _names(_section(config, "platform_toolsets").get(platform))
    chosen = named & everything
    if chosen:
        wanted = chosen
    off = _names(_section(config, "agent").get("disabled_toolsets"))
    if sandbox_choice(config) == "off":
        off |= {ASK_ACCESS.name}
    return tuple(
        tool for tool in TOOLS if tool.toolset in wanted and not {tool.toolset, tool.name} & off
    )


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = config.get(name)
    return section if isinstance(section, Mapping) else {}


def _names(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        value = value.split(",")
    return (
        frozenset(str(each).strip() for each in value) if isinstance(value, list) else frozenset()
    )
