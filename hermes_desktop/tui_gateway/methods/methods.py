"""Method table of the protocol, with the methods out of order and those not implemented."""

from collections.abc import Mapping

from hermes_desktop.tui_gateway import asking, background_methods
from hermes_desktop.tui_gateway.methods import (
    command_methods,
    conversation_methods,
    opening_methods,
    process_methods,
    prompt_methods,
    settings_methods,
)
from hermes_desktop.tui_gateway.protocol import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Method

METHODS: Mapping[str, Method] = {
    "session.create": opening_methods.create,
    "session.list": opening_methods.list_,
    "session.most_recent": opening_methods.most_recent,
    "session.resume": opening_methods.resume,
    "session.active_list": opening_methods.active_list,
    "session.activate": opening_methods.activate,
    "session.close": opening_methods.close,
    "session.delete": opening_methods.delete,
    "session.history": conversation_methods.history,
    "session.title": conversation_methods.title,
    "session.undo": conversation_methods.undo,
    "session.save": conversation_methods.save,
    "session.compress": conversation_methods.compress,
    "session.branch": conversation_methods.branch,
    "session.usage": conversation_methods.usage,
    "session.cwd.set": conversation_methods.set_folder,
    "session.status": command_methods.status,
    "session.steer": prompt_methods.steer,
    "session.interrupt": prompt_methods.interrupt,
    "prompt.submit": prompt_methods.submit,
    "approval.respond": asking.approval_respond,
    "clarify.respond": asking.clarify_respond,
    "prompt.background": background_methods.submit,
    "agents.list": background_methods.agents_list,
    "process.list": process_methods.process_list,
    "process.stop": process_methods.process_stop,
    "process.kill": process_methods.process_kill,
    "insights.get": process_methods.figures,
    "config.get": settings_methods.get,
    "config.set": settings_methods.set_,
    "config.show": settings_methods.show,
    "model.options": settings_methods.model_options,
    "setup.status": settings_methods.setup_status,
    "commands.catalog": command_methods.catalog,
    "command.resolve": command_methods.resolve,
    "command.dispatch": command_methods.dispatch,
    "slash.exec": command_methods.execute,
    "complete.slash": command_methods.complete_slash,
    "complete.path": command_methods.complete_path,
}

AT_ONCE = frozenset({"session.interrupt", "session.steer", "approval.respond", "clarify.respond"})
"""Methods answered on arrival, before earlier requests of the peer: they must not wait."""

SLOW = frozenset(
    {
        "session.list",
        "insights.get",
        "process.stop",
        "process.kill",
        "session.compress",
        "session.delete",
        "session.save",
        "complete.path",
        "model.options",
    }
)
"""Methods answered concurrently, because they may take long; responses may come later.

None of them changes a live session that other requests may use at the same time.
"""

_LATER = frozenset(
    [
        "session.context_breakdown",
        "image.attach",
        "image.attach_bytes",
        "image.detach",
        "file.attach",
        "pdf.attach",
        "clipboard.paste",
        "model.save_key",
        "model.disconnect",
        "tools.list",
        "tools.show",
        "tools.configure",
        "toolsets.list",
        "skills.manage",
        "skills.reload",
        "plugins.list",
        "plugins.manage",
        "reload.mcp",
        "reload.env",
        "delegation.status",
        "delegation.pause",
        "subagent.interrupt",
        "rollback.list",
        "rollback.diff",
        "rollback.restore",
        "voice.toggle",
        "voice.record",
        "voice.tts",
        "llm.oneshot",
        "shell.exec",
    ]
)
_OF_A_GATEWAY = frozenset(
    ["handoff.request", "handoff.state", "handoff.fail", "cron.manage", "browser.manage"]
)
_ANSWERS = frozenset(["sudo.respond", "secret.respond", "terminal.read.respond"])


def find(name: str) -> Method:
    """Return the method of a name.

    Raises:
        RpcError: There is none, or it is not in this version.
    """
    method = METHODS.get(name)
    if method is not None:
        return method
    if name in _LATER:
        raise RpcError(Code.GENERIC, f"{name} is not in this version")
    if name in _OF_A_GATEWAY:
        raise RpcError(Code.HOST, f"{name} is not in this version: no gateway is hosted here")
    if name in _ANSWERS:
        raise RpcError(Code.BUSY, f"no pending request: nothing asks for {name} in this version")
    raise RpcError(Code.UNKNOWN_METHOD, f"unknown method: {name}")
