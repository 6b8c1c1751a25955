"""The decision on possibly harmful actions: rules first, then the user's approval.

In this order: forbidden actions → the user's deny rules → chats without approvals → earlier
approvals → actions that need none → the user. If the user cannot be asked, it is not approved.
"""

import fnmatch
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from hermes_desktop import plugins
from hermes_desktop.agent.sandbox.grants import Access, Hold, Level
from hermes_desktop.agent.tools.asking.approval_memory import ApprovalStore
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue, new_request_id, plain
from hermes_desktop.agent.tools.base import ToolError
from hermes_desktop.agent.tools.danger.assessment import judge
from hermes_desktop.agent.tools.danger.danger_paths import (
    Places,
    holds_secrets,
    is_forbidden,
    needs_care_to_write,
)
from hermes_desktop.agent.tools.danger.danger_words import Danger
from hermes_desktop.agent.tools.danger.deny_rules import is_denied
from hermes_desktop.agent.tools.danger.shell_words import Word
from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.session_context import get_session_env
from hermes_desktop.core.user_requests import (
    ACCESS_TOOL,
    ApprovalChoice,
    UserAnswer,
    UserRequest,
)

log = logging.getLogger(__name__)

TIMEOUT_S = 60.0
_MOST_TIMEOUT_S = 3600.0
_MOST_TOLD = 10_000
HERE = frozenset({"desktop", "cli", "tui"})
"""Platforms of the user at this machine; elsewhere it may be any authorized sender."""
_NOT_HELD = "not-held"
"""The reason to ask about a command that the sandbox does not hold completely."""
_EVERYWHERE: tuple[ApprovalChoice, ...] = ("once", "session", "always", "deny")
_NOT_ALWAYS: tuple[ApprovalChoice, ...] = ("once", "session", "deny")
_ALLOWING = frozenset({"once", "session", "always", "outside"})
_NEVER_OUTSIDE = frozenset({"reads-secrets", "writes-care"})
"""Dangers of commands that are never run outside the sandbox: they touch the files of Hermes, keys,
or files that start programs."""


def sandbox_choice(config: Mapping[str, Any]) -> Literal["off", "auto", "risky"]:
    """Return ``approvals.sandboxed_commands``; a value that is none of its choices is ``risky``.

    It is ``auto`` where nothing is set. YAML reads a bare ``off`` as false.
    """
    section = config.get("approvals")
    value = section.get("sandboxed_commands") if isinstance(section, Mapping) else None
    if value is False or value == "off":
        return "off"
    return "auto" if value is None or value == "auto" else "risky"


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """``approvals.*`` and ``command_allowlist`` of config.yaml.

    Attributes:
        mode: ``ask`` or ``off``. ``smart`` asks the user, too: no model decides here.
        deny: Commands, with ``*`` and ``?``, that are never run, whatever starts them.
        allow: Commands, matched exactly, that need no approval.
        sandboxed: ``off``: commands run without a sandbox. Otherwise which commands need approval
            in a closed sandbox: none (``auto``), or those that may do harm (``risky``).
        partly: The same for a partial sandbox: all (``ask``), or ``risky``.
    """

    mode: Literal["ask", "off"] = "ask"
    timeout_s: float = TIMEOUT_S
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    sandboxed: Literal["off", "auto", "risky"] = "auto"
    partly: Literal["ask", "risky"] = "ask"

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> "ApprovalRules":
        """Read the rules. Invalid values count as the safer choice; never raises."""
        section = config.get("approvals")
        section = section if isinstance(section, Mapping) else {}
        mode = section.get("mode", "smart")
        is_off = mode is False or (isinstance(mode, str) and mode.strip().lower() == "off")
        timeout = section.get("timeout", TIMEOUT_S)
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        usable = is_number and 0 < timeout <= _MOST_TIMEOUT_S
        return cls(
            mode="off" if is_off else "ask",
            timeout_s=float(timeout) if usable else TIMEOUT_S,
            deny=_texts(_listed(section.get("deny"))),
            allow=tuple(each.strip() for each in _texts(config.get("command_allowlist"))),
            sandboxed=sandbox_choice(config),
            partly="risky" if section.get("partly_sandboxed_commands") == "risky" else "ask",
        )

    def reasons(self, dangers: tuple[Danger, ...], hold: Hold) -> tuple[Danger, ...]:
        """Return why a command needs approval; () if it needs none.

        Args:
            dangers: What its text says.
            hold: The level of the sandbox it will run in.
        """
        if self.sandboxed == "off":
            return dangers
        if hold.level is Level.CLOSED and not hold.doubt:
            return dangers if self.sandboxed == "risky" else ()
        if hold.level is Level.PARTLY_HELD and self.partly == "risky" and not hold.leaves:
            return dangers
        return (*dangers, Danger(_NOT_HELD, hold.doubt))

    def forbid(self, text: str, programs: Sequence[tuple[Word, ...]]) -> bool:
        """Return whether a command, a part of it, or a program that it starts is denied.

        Args:
            text: The whole command.
            programs: What it starts, as far as that is known.
        """
        started = (" ".join(each.text for each in words) for words in programs)
        flat = {" ".join(part.split()) for part in (text, *_BETWEEN.split(text), *started)}
        return any(
            is_denied(rule, programs) or any(fnmatch.fnmatchcase(each, rule) for each in flat)
            for rule in self.deny
        )


_BETWEEN = re.compile(r"[\n;|&(){}`]")


def _listed(value: Any) -> Any:
    """Accept a rule that was written without a list."""
    return [value] if isinstance(value, str) else value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in value if each) if isinstance(value, list) else ()


class ApprovalGate:
    """The gate for possibly harmful actions of one agent's tools. Blocking; thread-safe.

    Args:
        rules: The user's rules.
        places: The folders the agent works in.
        queue: The pending requests.
        memory: Approvals that are valid more than once.
        clean: Removes secrets from what is shown and logged.
        platform: Where the chat takes place.
    """

    def __init__(  # noqa: PLR0913 - what a decision rests upon
        self,
        rules: ApprovalRules,
        places: Places,
        *,
        queue: RequestQueue,
        memory: ApprovalStore,
        clock: Clock,
        clean: Callable[[str], str],
        platform: str,
        session_key: str,
    ) -> None:
        self._rules = rules
        self._places = places
        self._queue = queue
        self._memory = memory
        self._clock = clock
        self._clean = clean
        self._platform = platform
        self._session_key = session_key

    def command(
        self,
        text: str,
        session_id: str,
        cancel: CancelSignal,
        hold: Hold,
        *,
        may_leave: bool = False,
    ) -> bool:
        """Return only if a shell command may run, and whether it is to run outside the sandbox.

        Args:
            text: The command.
            session_id: The session.
            cancel: Ends the wait.
            hold: The level of the sandbox it will run in.
            may_leave: A question because of the sandbox offers to run it outside, once.

        Raises:
            ToolError: It may not; the message is for the model.
        """
        judgement = judge(text, self._places)
        dangers = judgement.dangers
        hard = [each for each in dangers if each.hard]
        if hard:
            self._refuse("terminal", text, session_id, f"It {hard[0].words}. That is never done.")
        if self._rules.forbid(text, judgement.programs):
            self._refuse("terminal", text, session_id, "A rule of the user forbids it.")
        reasons = self._rules.reasons(dangers, hold)
        if reasons and text.strip() not in self._rules.allow:
            where = str(self._places.cwd)
            offers = may_leave and hold.level is not Level.NONE and _may_leave(dangers)
            offers = offers and any(each.key == _NOT_HELD for each in reasons)
            return self._ask("terminal", text, where, reasons, session_id, cancel, outside=offers)
        return False

    def outside(self, text: str, lacks: str, session_id: str, cancel: CancelSignal) -> bool:
        """Ask whether a command that failed in the sandbox runs again outside it, once.

        Asked even where approvals are off: these do not switch the sandbox off. The rules of
        :meth:`command` have let it run already.

        Args:
            text: The command.
            lacks: What the sandbox lacks for it, as the end of a sentence.
            session_id: The session.
            cancel: Ends the wait.
        """
        if not _may_leave(judge(text, self._places).dangers):
            return False
        why = (
            "It was started in the sandbox and failed; what it did before it failed stays.",
            f"It seems to need {lacks}, which the sandbox never has.",
        )
        request = replace(
            self._request("terminal", session_id, text, may_keep=False),
            choices=("outside", "deny"),
            headline="Run this outside the sandbox, once?",
            where=str(self._places.cwd),
            why=why,
            keys=("outside",),
        )
        try:
            return self._answered(request, cancel, text) == "outside"
        except ToolError:
            return False

    def read(self, path: str, session_id: str, cancel: CancelSignal, *, outside: bool) -> None:
        """Return only if a file may be read. Raises as :meth:`command`."""
        dangers = _outside("reads") if outside else []
        if holds_secrets(path, self._places):
            dangers.append(Danger("reads-secrets", "reads where secrets are kept"))
        self._file("read_file", path, dangers, session_id, cancel)

    def write(
        self, path: str, session_id: str, cancel: CancelSignal, *, outside: bool, text: str = ""
    ) -> None:
        """Return only if a file may be written. Raises as :meth:`command`.

        Args:
            path: The file.
            session_id: The session.
            cancel: Ends the wait.
            outside: It is outside the folders in which no approval is needed.
            text: Its new content, to be shown with the request.
        """
        dangers = _outside("writes") if outside else []
        why = needs_care_to_write(path, self._places)
        if why:
            dangers.append(Danger("writes-care", f"writes a file; {why}"))
        self._file("write_file", path, dangers, session_id, cancel, text=text)

    def access(  # noqa: PLR0913 - the parts of the question
        self,
        access: Access,
        headline: str,
        sentences: Sequence[str],
        said: str,
        session_id: str,
        cancel: CancelSignal,
        *,
        may_keep: bool,
    ) -> ApprovalChoice:
        """Ask whether commands may reach something; return the choice that allows it.

        Asked even where approvals are off: these do not switch the sandbox off.

        Args:
            access: What is to be reached.
            headline: What is asked, in one sentence.
            sentences: What the user has to know.
            said: The reason that the model gives; untrusted.
            session_id: The session.
            cancel: Ends the wait.
            may_keep: It can be allowed permanently.

        Raises:
            ToolError: It was denied; the message is for the model.
        """
        request = self._request(ACCESS_TOOL, session_id, access.value, may_keep=may_keep)
        told = (*sentences, f"The assistant says: “{said}”")
        request = replace(
            request,
            headline=headline,
            subject=access.kind,
            where=str(self._places.cwd),
            why=tuple(plain(self._clean(each)) for each in told),
            keys=(f"{access.kind}-{'write' if access.write else 'read'}",),
        )
        return self._answered(request, cancel, f"{request.keys[0]} {access.value}")

    def _file(
        self,
        tool: str,
        path: str,
        dangers: list[Danger],
        session_id: str,
        cancel: CancelSignal,
        *,
        text: str = "",
    ) -> None:
        if is_forbidden(path, self._places):
            self._refuse(tool, path, session_id, "It contains the keys, or the history, of Hermes.")
        if dangers:
            cwd = str(self._places.cwd)
            self._ask(tool, path, cwd, tuple(dangers), session_id, cancel, text=text)

    # Requests

    def _ask(  # noqa: PLR0913 - what a decision rests upon
        self,
        tool: str,
        what: str,
        where: str,
        dangers: tuple[Danger, ...],
        session_id: str,
        cancel: CancelSignal,
        *,
        text: str = "",
        outside: bool = False,
    ) -> bool:
        """Return only if it may be done, and whether it is to be done outside the sandbox."""
        key = self._chat()
        matter = f"{tool}\n{where}\n{what}"
        if self._rules.mode == "off" or self._queue.is_free(key):
            self._note("allowed", "approvals are off here", tool, what, session_id)
            return False
        scope = f"{key} {session_id}"  # a new session in the chat needs approval again
        if self._memory.allows(scope, matter):
            self._note("allowed", "it was allowed before", tool, what, session_id)
            return False
        request = self._request(tool, session_id, what + _told(text), may_keep=self._memory.keeps)
        request = replace(
            request,
            where=where,
            why=tuple(self._clean(f"It {each.words}.") for each in dangers),
            keys=tuple(each.key for each in dangers),
        )
        if outside:
            request = replace(request, choices=(*request.choices[:-1], "outside", "deny"))
        choice = self._answered(request, cancel, what)
        self._memory.allow(scope, matter, choice, shown=plain(self._clean(what)))
        return choice == "outside"

    def _request(self, tool: str, session_id: str, text: str, *, may_keep: bool) -> UserRequest:
        now = self._clock.time()
        return UserRequest(
            id=new_request_id(),
            session_key=self._chat(),
            session_id=session_id,
            user_id=get_session_env("HERMES_SESSION_USER_ID"),
            platform=self._platform,
            kind="approval",
            tool=tool,
            text=plain(self._clean(text)),
            choices=_EVERYWHERE if may_keep else _NOT_ALWAYS,
            asked_at=now,
            expires_at=now + self._rules.timeout_s,
        )

    def _answered(self, request: UserRequest, cancel: CancelSignal, what: str) -> ApprovalChoice:
        """Wait for the user; return a choice that allows it. Raises as :meth:`command`."""
        facts = _facts(request)
        _tell_plugins("pre_approval_request", facts)
        answer = self._queue.ask(request, cancel, self._rules.timeout_s)
        _tell_plugins("post_approval_response", {**facts, "choice": answer.text})
        self._note(answer.text, answer.reason, request.tool, what, request.session_id)
        if answer.text not in _ALLOWING:
            raise ToolError(_denied(answer))
        return cast("ApprovalChoice", answer.text)

    def _chat(self) -> str:
        return get_session_env("HERMES_SESSION_KEY") or self._session_key

    def _refuse(self, tool: str, what: str, session_id: str, why: str) -> None:
        self._note("refused", why, tool, what, session_id)
        raise ToolError(f"Refused. {why} Do not try it in another way; tell the user instead.")

    def _note(self, decision: str, why: str, tool: str, what: str, session_id: str) -> None:
        log.info("%s in %s: %s (%s)", tool, session_id, decision, why)
        self._memory.note(
            {
                "time": self._clock.time(),
                "session_id": session_id,
                "platform": self._platform,
                "tool": tool,
                "what": self._clean(what)[:2000],
                "decision": decision,
                "why": why,
            }
        )


def _may_leave(dangers: Sequence[Danger]) -> bool:
    """Return whether a command may be offered to run outside the sandbox."""
    return not any(each.key in _NEVER_OUTSIDE for each in dangers)


def _facts(request: UserRequest) -> dict[str, Any]:
    """Return what plugins receive about a request."""
    return {
        "command": request.text,
        "description": " ".join(request.why),
        "pattern_key": request.keys[0],
        "pattern_keys": list(request.keys),
        "session_key": request.session_key,
        "surface": "cli" if request.platform in HERE else "gateway",
    }


def _tell_plugins(name: str, facts: Mapping[str, Any]) -> None:
    """Notify plugins of a request. They decide nothing; a failure changes nothing."""
    if not plugins.has_callbacks(name):
        return
    try:
        plugins.invoke_hook(name, **facts)
    except Exception:  # the registry guards each callback; this is our own bug
        log.exception("Plugins could not be notified of a request")


def _told(text: str) -> str:
    """Return the new content, to follow the file's name."""
    if not text:
        return ""
    more = len(text) - _MOST_TOLD
    return f"\n\n{text[:_MOST_TOLD]}" + (f"\n… {more} more characters" if more > 0 else "")


def _outside(does: str) -> list[Danger]:
    return [Danger("outside", f"{does} outside the working folder")]


def _denied(answer: UserAnswer) -> str:
    words = {
        "answered": "The user denied it. Do not try it in another way; ask what to do instead.",
        "timeout": "Nobody answered in time, so it was not done.",
        "stopped": "The user stopped the turn, so it was not done.",
        "nobody": "It needs the user's approval, and nobody can be asked here, so it was not done.",
        "gone": "The user can no longer be reached, so it was not done.",
        "ended": "The program is being closed, so it was not done.",
    }
    return f"Denied. {words[answer.reason]}"
