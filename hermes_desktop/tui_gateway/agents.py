"""The agent of a live session: created for its first prompt, and again when its settings change."""

import logging
import threading
from typing import Any

from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.core.errors import HermesError
from hermes_desktop.tui_gateway import session_record
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Server, Session
from hermes_desktop.tui_gateway.session_record import source_of

log = logging.getLogger(__name__)

BUILD_S = 30.0
"""Time-out of creating an agent."""


def ensure_agent(server: Server, session: Session, *, limit_s: float = BUILD_S) -> None:
    """Make sure that an agent is ready for the next turn. Blocks.

    Raises:
        RpcError: It cannot be created, or that takes too long.
    """
    if session.get("agent") is not None and not _settings_changed(server, session):
        return
    with session["history_lock"]:
        ready = session.get("agent_ready") if session.get("agent_build_started") else None
        ours = ready is None
        if ready is None:
            ready = session["agent_ready"] = threading.Event()
            session["agent_build_started"] = True
            session["agent_error"] = None
    if ours:
        server.start_thread(lambda: _build(server, session, ready))
    if not ready.wait(limit_s):
        raise RpcError(Code.AGENT, f"agent init timed out after {limit_s:g} s")
    error = session.get("agent_error")
    if error is not None:
        raise error


def choose(server: Server, session: Session) -> None:
    """Store the model that would answer, for peers. Never raises for invalid settings."""
    try:
        choice = server.program.agents.choose_model(session.get("model_override") or {})
    except HermesError as error:
        session["model_name"], session["provider_name"] = "", ""
        session["model_trouble"] = str(error)
    else:
        session["model_name"], session["provider_name"] = choice.model, choice.provider
        session["model_trouble"] = ""


def drop_agent(session: Session) -> None:
    """Have the next turn create a new agent. Not while one runs. May block briefly."""
    agent = session.get("agent")
    session["agent"] = None
    if agent is not None:
        close_agent(agent)


def close_agent(agent: Any) -> None:
    """Release all resources of an agent, as far as it supports that."""
    try:
        getattr(agent, "close", lambda: None)()
    except Exception:
        # A client that cannot be closed must not keep a session alive.
        log.warning("An agent could not be closed", exc_info=True)


def _settings_changed(server: Server, session: Session) -> bool:
    """Return whether the agent's settings are outdated; never for one created elsewhere."""
    made_from = session.get("agent_settings")
    if made_from is None:
        return False
    try:
        return bool(made_from != server.program.agents.fingerprint())
    except HermesError:
        return True  # creating one reports the error


def _build(server: Server, session: Session, ready: threading.Event) -> None:
    try:
        agents = server.program.agents
        settings = agents.fingerprint()
        session_record.restore_thinking(server.db(), session)
        agent = agents.build(_request(session))
        old, session["agent"] = session.get("agent"), agent
        session["agent_settings"] = settings
        session["bind_needed"] = True
        if old is not None:
            close_agent(old)
    except HermesError as error:
        session["agent_error"] = in_protocol(error, Code.AGENT)
    except Exception as error:
        log.exception("An agent could not be made")
        session["agent_error"] = RpcError(
            Code.AGENT, f"agent init failed: {type(error).__name__}; the log says more"
        )
    finally:
        session["agent_build_started"] = False
        ready.set()


def _request(session: Session) -> AgentRequest:
    fields: dict[str, Any] = {"parent_session_id": session.get("parent_session_id")}
    if session.get("explicit_cwd"):
        fields["cwd"] = session.get("cwd")
    fields |= session_record.thinking_config(session)
    return AgentRequest(
        session_id=session["session_key"],
        source=source_of(session),
        session_key=session["session_key"],
        session_fields={name: value for name, value in fields.items() if value},
        model_override=session.get("model_override") or {},
    )
