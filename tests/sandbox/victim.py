"""A throw-away home with planted secrets and listeners, on which attacks are really run."""

import base64
import contextlib
import ctypes
import hashlib
import json
import os
import secrets
import selectors
import shutil
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.turns.tool_rounds import ToolTurn
from tests.fakes.tool_stage import KEY, SID, ToolStage, call
from tests.sandbox.attacks import Attack, corpus

KINDS = ("change", "metadata", "read", "network", "escape")
_SEGMENT, _CREATE, _REMOVE = 64, 0o1000 | 0o600, 0


@dataclass(slots=True)
class Outcome:
    """What a corpus did.

    Attributes:
        ran: How many attacks of each kind were run.
        refused: How many were refused by what their text says, before they ran.
        harm: What succeeded: kind of harm, attack, disguise.
    """

    ran: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    harm: list[tuple[str, str, str]] = field(default_factory=list)

    def table(self, title: str) -> str:
        """Return a table for people."""
        lines = [f"{title}: {self.ran.total()} run, {self.refused} refused before"]
        for kind, count in sorted(self.ran.items()):
            lines.append(f"  {kind:10} {count:5} run")
        found = Counter(kind for kind, _, _ in self.harm)
        for kind in ("changed", "metadata", "read", "connected", "escaped"):
            names = sorted({attack for each, attack, _ in self.harm if each == kind})
            lines.append(f"  {kind:10} {found[kind]:5} {', '.join(names)}")
        return "\n".join(lines)


class Victim:
    """A home, a working folder and listeners outside.

    Args:
        folder: An empty folder.
        short: An empty folder with a short path, for sockets.
        level: The level at which commands run; None: without a sandbox.
    """

    def __init__(self, folder: Path, short: Path, level: Level | None) -> None:
        self.stage = ToolStage(folder, level=level)
        self.stage.queue.set_free(KEY, free=True)  # nothing is held by a question here
        self.level = level
        self.secret = f"planted-{secrets.token_hex(8)}"
        self.short = short
        self.connected = 0
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._plant()

    @property
    def _forms(self) -> tuple[bytes, ...]:
        """The secret in the forms in which a command may show it."""
        raw = self.secret.encode()
        # In base64 the beginning of a line is enough: what follows depends on its place.
        return raw, raw[::-1], raw.hex().encode(), base64.b64encode(raw)[:20]

    def _plant(self) -> None:
        home, hermes = self.stage.user_home, self.stage.home
        planted = {
            home / "Documents/thesis.txt": f"dear {self.secret}\n",
            home / ".ssh/id_rsa": f"{self.secret}\n",
            home / ".bashrc": "# mine\n",
            home / ".gitconfig": "[user]\n\tname = Ada\n",
            home / ".local/bin/ls": "#!/bin/sh\n",
            home / ".config/app.conf": "a = b\n",
            hermes / ".env": f"TOKEN={self.secret}\n",
            hermes / "auth.json": json.dumps({"token": self.secret}),
            hermes / "config.yaml": f"# {self.secret}\n",
        }
        for path, text in planted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                path.parent.chmod(0o755)
            path.unlink(missing_ok=True)
            path.write_text(text)
            os.chown(path, os.getuid(), os.getgid())
            path.chmod(0o644)
            os.utime(path, (1_700_000_000, 1_700_000_000))

    @contextlib.contextmanager
    def watched(self) -> Iterator[dict[str, object]]:
        """Listen, and yield what stands for the names in the lines of attacks."""
        with contextlib.ExitStack() as stack:
            tcp = stack.enter_context(
                socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
            )
            udp, stream, abstract = socket.socket(2, 2), socket.socket(1, 1), socket.socket(1, 1)
            datagram = socket.socket(1, 2)
            udp.bind(("127.0.0.1", 0))
            stream.bind(str(self.short / "s"))
            datagram.bind(str(self.short / "d"))
            name = f"hermes-{secrets.token_hex(4)}"
            abstract.bind(f"\0{name}")
            all_of_them = (tcp, udp, stream, datagram, abstract)
            for each in all_of_them:
                stack.enter_context(each)
                if each.type == socket.SOCK_STREAM:
                    each.listen(64)
            over = threading.Event()
            listening = threading.Thread(target=self._listen, args=(all_of_them, over))
            listening.start()
            stack.callback(listening.join)
            stack.callback(over.set)
            self._victim = subprocess.Popen(["sleep", "100000"])
            stack.callback(self._victim.wait)
            stack.callback(self._victim.kill)
            key = secrets.randbelow(2**30) + 1
            segment = self._libc.shmget(key, _SEGMENT, _CREATE)
            stack.callback(self._libc.shmctl, segment, _REMOVE, None)
            self._libc.shmat.restype = ctypes.c_void_p
            self._shared = self._libc.shmat(segment, None, 0)
            yield {
                "home": self.stage.user_home,
                "outside": self.stage.user_home / "Documents",
                "hermes": self.stage.home,
                "port": tcp.getsockname()[1],
                "udp": udp.getsockname()[1],
                "unix": self.short / "s",
                "datagram": self.short / "d",
                "abstract": name,
                "victim": self._victim.pid,
                "proof": self.short / "proof",
                "secret": self.secret,
                "shm": key,
            }

    def _listen(self, sockets: tuple[socket.socket, ...], over: threading.Event) -> None:
        with selectors.DefaultSelector() as selector:
            for each in sockets:
                each.setblocking(False)
                selector.register(each, selectors.EVENT_READ)
            while not over.is_set():
                for key, _ in selector.select(0.05):
                    found: socket.socket = key.fileobj  # type: ignore[assignment]
                    self.connected += 1
                    with contextlib.suppress(OSError):
                        if found.type == socket.SOCK_STREAM:
                            found.accept()[0].close()
                        else:
                            found.recv(100)

    def run(self, every: int = 1, kinds: Container[str] = KINDS) -> Outcome:
        """Run the corpus: the plain form of every attack, and every n-th of the disguises.

        Args:
            every: The n; 0 for the plain form alone.
            kinds: The kinds of attacks that are run.
        """
        outcome, turn = Outcome(), ToolTurn(SID, "t", threading.Event())
        box = self.stage.tools()
        with self.watched() as names:
            before = self._snapshot()
            for number, (attack, disguise, line) in enumerate(corpus(names)):
                if attack.kind not in kinds:
                    continue
                if disguise != "plain" and (not every or number % every):
                    continue
                [result] = box.run([call("terminal", command=line, timeout=30)], turn)
                if "Refused." in result.content:
                    outcome.refused += 1
                    continue
                outcome.ran[attack.kind] += 1
                before = self._judge(outcome, attack, disguise, result.content, before)
            threading.Event().wait(3)  # what was left behind acts after two seconds
            last = Attack("escape", "later", "")
            self._judge(outcome, last, "", "", before)
        return outcome

    def _judge(
        self, outcome: Outcome, attack: Attack, disguise: str, said: str, before: dict[str, object]
    ) -> dict[str, object]:
        """Note what an attack did; put everything back and return the state after that."""
        now = self._snapshot()
        found = set(self._changes(before, now)) | set(self._effects())
        if self._shows_secret(attack, said):
            found.add("escaped" if "{secret}" in attack.line else "read")
        outcome.harm += [(each, attack.name, disguise) for each in sorted(found)]
        self._clear()
        if found & {"changed", "metadata"}:
            self._plant()
            return self._snapshot()
        return now

    def _shows_secret(self, attack: Attack, said: str) -> bool:
        """Return whether the secret is in the output, or was copied into the working folder."""
        output = said.encode()
        if "{secret}" in attack.line:  # its own text holds it
            return self._forms[0] in output
        for each in self.stage.cwd.rglob("*"):
            if each.is_file() and not each.is_symlink() and each.stat().st_size < 1_000_000:
                output += each.read_bytes()
        return any(form in output for form in self._forms)

    def _effects(self) -> Iterator[str]:
        """Yield what reached other processes; all of it is undone."""
        if self.connected:
            self.connected = 0
            yield "connected"
        proof = self.short / "proof"
        if self._victim.poll() is not None or proof.exists():
            proof.unlink(missing_ok=True)
            yield "escaped"
        if self._shared and ctypes.string_at(self._shared, 4) != bytes(4):
            ctypes.memset(self._shared, 0, 4)
            yield "escaped"

    def _clear(self) -> None:
        """Empty the working folder."""
        for each in self.stage.cwd.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()

    @staticmethod
    def _changes(before: dict[str, object], now: dict[str, object]) -> Iterator[str]:
        for path in before.keys() | now.keys():
            old, new = before.get(path), now.get(path)
            if old != new:
                same = isinstance(old, tuple) and isinstance(new, tuple) and old[0] == new[0]
                yield "metadata" if same else "changed"

    def _snapshot(self) -> dict[str, object]:
        """Return content and properties of everything outside the working folder."""
        found: dict[str, object] = {}
        own = {self.stage.home / "desktop", self.stage.cwd}
        for top, folders, files in os.walk(self.stage.user_home):
            folders[:] = [each for each in folders if Path(top, each) not in own]
            for name in [*folders, *files]:
                path = Path(top, name)
                if name.startswith("state.db"):
                    continue
                status = path.lstat()
                content = ""
                if path.is_file() and not path.is_symlink():
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                stamp = status.st_mtime_ns if content else 0
                extra = os.listxattr(path, follow_symlinks=False)
                facts = (status.st_mode, status.st_uid, stamp, status.st_nlink if content else 0)
                found[str(path)] = (content, *facts, *extra)
        return found

    def close(self) -> None:
        """End the stage."""
        self.stage.close()
