"""A throw-away home with planted secrets and listeners, on which attacks are really run."""

import base64
import contextlib
import hashlib
import json
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.turns.tool_rounds import ToolTurn
from tests.fakes.tool_stage import KEY, SID, ToolStage, call
from tests.sandbox.attacks import DISGUISES, Attack
from tests.sandbox.kernel_objects import KernelObjects

HARM = ("changed", "metadata", "read", "connected", "escaped")
_LATER_S = 2.0
_OLD = 1_700_000_000


@dataclass(slots=True)
class Outcome:
    """What a corpus did.

    Attributes:
        ran: How many attacks of each group were run.
        refused: The attacks that were refused by what their text says, before they ran.
        harm: What succeeded: kind of harm, attack, disguise.
    """

    ran: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    harm: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def harmful(self) -> set[str]:
        """The attacks that did any harm."""
        return {attack for _, attack, _ in self.harm}

    def table(self, title: str) -> str:
        """Return a table for people."""
        lines = [f"{title}: {self.ran.total()} run, {len(self.refused)} refused before"]
        did = Counter(each.partition("/")[0] for each in self.harmful)
        for group, count in sorted(self.ran.items()):
            lines.append(f"  {group:16} {count:5} run, {did[group]:5} did harm")
        found = Counter(kind for kind, _, _ in self.harm)
        for kind in HARM:
            names = sorted({attack for each, attack, _ in self.harm if each == kind})
            listed = f": {', '.join(names)}" if 0 < len(names) <= 60 else ""
            lines.append(f"  {kind:16} {found[kind]:5}{listed}")
        return "\n".join(lines)


def name_of(attack: Attack) -> str:
    """Return what identifies an attack."""
    return f"{attack.group}/{attack.name}"


class Victim:
    """A home, a working folder, a process and listeners outside.

    Args:
        folder: An empty folder.
        short: An empty folder with a short path, for sockets.
        level: The level at which commands run; None: without a sandbox.
    """

    def __init__(self, folder: Path, short: Path, level: Level | None) -> None:
        self.stage = ToolStage(folder, level=level)
        self.stage.queue.set_free(KEY, free=True)  # nothing is held by a question here
        self.secret = f"planted-{secrets.token_hex(8)}"
        self.short = short
        self.connected, self.typed = 0, 0
        self.names: dict[str, object] = {}
        self._template = folder / "template"
        self._make_template()
        self._plant()

    @property
    def _forms(self) -> tuple[bytes, ...]:
        """The secret in the forms in which a command may show it."""
        raw = self.secret.encode()
        octal = "".join(f"{each:o}" for each in raw).encode()
        # In base64 the beginning of a line is enough: what follows depends on its place.
        return raw, raw[::-1], raw.hex().encode(), base64.b64encode(raw)[:20], octal

    def _make_template(self) -> None:
        planted = {
            "Documents/thesis.txt": f"dear {self.secret}\n",
            "Documents/letter.txt": "dear\n",
            ".ssh/id_rsa": f"{self.secret}\n",
            ".ssh/known_hosts": "example.org ssh-ed25519 AAAA\n",
            ".bashrc": "# mine\n",
            ".bash_history": "ls\n",
            ".gitconfig": "[user]\n\tname = Ada\n",
            ".local/bin/ls": "#!/bin/sh\n",
            ".config/app.conf": "a = b\n",
            ".hermes/.env": f"TOKEN={self.secret}\n",
            ".hermes/auth.json": json.dumps({"token": self.secret}),
            ".hermes/config.yaml": f"# {self.secret}\n",
        }
        for name, text in planted.items():
            path = self._template / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o644)
        documents = self._template / "Documents"
        (documents / "empty").mkdir()
        (documents / "kept").symlink_to(self.secret)
        with contextlib.suppress(OSError):  # a file system without attributes
            os.setxattr(documents / "thesis.txt", "user.note", self.secret.encode())
        self._make_repository(documents / "repo.git")
        for path in self._template.rglob("*"):
            os.utime(path, (_OLD, _OLD), follow_symlinks=False)

    def _make_repository(self, bare: Path) -> None:
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(
            [*git, "init", "-q", "--bare", "--template=", "-b", "main", str(bare)], check=True
        )
        (bare / "hooks").mkdir()
        tree = subprocess.run(
            [*git, "--git-dir", str(bare), "mktree"], input=b"", capture_output=True, check=True
        ).stdout.decode()
        made = subprocess.run(
            [*git, "--git-dir", str(bare), "commit-tree", tree.strip(), "-m", self.secret],
            capture_output=True,
            check=True,
        ).stdout.decode()
        for branch in ("main", "old"):
            subprocess.run(
                [*git, "--git-dir", str(bare), "update-ref", f"refs/heads/{branch}", made.strip()],
                check=True,
            )

    def _plant(self) -> None:
        """Put the home back, but for the working folder and what the program itself keeps."""
        home, hermes = self.stage.user_home, self.stage.home
        for folder, kept in ((hermes, ("state.db", "desktop")), (home, ("work", ".hermes"))):
            for each in folder.iterdir():
                if not each.name.startswith(kept):
                    _remove(each)
        shutil.copytree(self._template, home, symlinks=True, dirs_exist_ok=True)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Listen, and fill in what stands for the names in the lines of attacks."""
        with contextlib.ExitStack() as stack:
            tcp = stack.enter_context(
                socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
            )
            udp, stream, abstract = socket.socket(2, 2), socket.socket(1, 1), socket.socket(1, 1)
            datagram, packets = socket.socket(1, 2), socket.socket(1, 5)
            udp.bind(("127.0.0.1", 0))
            stream.bind(str(self.short / "s"))
            datagram.bind(str(self.short / "d"))
            packets.bind(str(self.short / "p"))
            name = f"hermes-{secrets.token_hex(4)}"
            abstract.bind(f"\0{name}")
            all_of_them = (tcp, udp, stream, datagram, packets, abstract)
            for each in all_of_them:
                stack.enter_context(each)
                if each.type in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                    each.listen(64)
            terminal, inner = os.openpty()
            stack.callback(os.close, terminal)
            stack.callback(os.close, inner)
            over = threading.Event()
            listening = threading.Thread(target=self._listen, args=(all_of_them, terminal, over))
            listening.start()
            stack.callback(listening.join)
            stack.callback(over.set)
            self._objects = stack.enter_context(KernelObjects())
            home = self.stage.user_home
            self.names = {
                "home": home,
                "outside": home / "Documents",
                "thesis": home / "Documents/thesis.txt",
                "repo": home / "Documents/repo.git",
                "key": home / ".ssh/id_rsa",
                "hermes": self.stage.home,
                "port": tcp.getsockname()[1],
                "udp": udp.getsockname()[1],
                "unix": self.short / "s",
                "datagram": self.short / "d",
                "packets": self.short / "p",
                "abstract": name,
                "held": self.short / "held",
                "tty": os.ttyname(inner),
                "secret": self.secret,
                "shm": self._objects.key,
                "queue": self._objects.name,
            }
            self._start_process()
            stack.callback(self._end_process)
            yield

    def _start_process(self) -> None:
        """Start what attacks may try to end; it holds a secret in its environment, and files."""
        with (
            (self.stage.user_home / ".ssh/id_rsa").open("rb") as key,
            (self.short / "held").open("wb") as held,
        ):
            self._process = subprocess.Popen(
                ["/bin/sleep", "100000"],
                env={"TOKEN": self.secret},
                cwd=self.stage.user_home,
                stdin=key,
                stdout=held,
                start_new_session=True,
            )
        self.names["victim"] = self._process.pid

    def _end_process(self) -> None:
        self._process.kill()
        self._process.wait()

    def _listen(
        self, sockets: tuple[socket.socket, ...], terminal: int, over: threading.Event
    ) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(terminal, selectors.EVENT_READ)
            for each in sockets:
                each.setblocking(False)
                selector.register(each, selectors.EVENT_READ)
            while not over.is_set():
                for key, _ in selector.select(0.05):
                    found = key.fileobj
                    if not isinstance(found, socket.socket):
                        os.read(terminal, 100)
                        self.typed += 1
                        continue
                    self.connected += 1
                    with contextlib.suppress(OSError):
                        if found.type == socket.SOCK_DGRAM:
                            found.recv(100)
                        else:
                            found.accept()[0].close()

    def run(self, chosen: Iterable[tuple[Attack, str]]) -> Outcome:
        """Run attacks, each in a disguise.

        Args:
            chosen: The attacks with the names of their disguises.
        """
        outcome = Outcome()
        with self.watched():
            before = self._snapshot()
            for attack, disguise in chosen:
                said = self._attack(attack, disguise)
                if "Refused." in said:
                    outcome.refused.append(name_of(attack))
                else:
                    outcome.ran[attack.group] += 1
                before = self._judge(outcome, attack, disguise, said, before)
        return outcome

    def _attack(self, attack: Attack, disguise: str) -> str:
        box, turn = self.stage.tools(), ToolTurn(SID, "t", threading.Event())
        said = []
        for line in attack.filled(self.names):
            command = DISGUISES[disguise](line)
            [result] = box.run([call("terminal", command=command, timeout=30)], turn)
            said.append(result.content)
        if attack.is_later:
            threading.Event().wait(_LATER_S)  # it acts after a second, or never
        return "\n".join(said)

    def _judge(
        self, outcome: Outcome, attack: Attack, disguise: str, said: str, before: dict[str, object]
    ) -> dict[str, object]:
        """Note what an attack did; put everything back and return the state after that."""
        now = self._snapshot()
        found = set(self._changes(before, now)) | set(self._effects())
        if self._shows_secret(attack, said):
            found.add("escaped" if "@secret@" in "".join(attack.calls) else "read")
        outcome.harm += [(each, name_of(attack), disguise) for each in sorted(found)]
        self._clear()
        if found & {"changed", "metadata"}:
            self._plant()
            return self._snapshot()
        return now

    def _shows_secret(self, attack: Attack, said: str) -> bool:
        """Return whether the secret is in the output, or was copied into the working folder."""
        output = said.encode()
        if "@secret@" in "".join(attack.calls):  # its own text holds it
            return self._forms[0] in output
        for each in self.stage.cwd.rglob("*"):
            output += os.fsencode(each.name)
            if each.is_file() and not each.is_symlink() and each.stat().st_size < 1_000_000:
                output += each.read_bytes()
        return any(form in output for form in self._forms)

    def _effects(self) -> Iterator[str]:
        """Yield what reached other processes; all of it is undone."""
        if self.connected:
            self.connected = 0
            yield "connected"
        if self._process.poll() is not None:
            self._start_process()
            yield "escaped"
        else:
            self._process.send_signal(signal.SIGCONT)
        if self.typed or self._objects.were_changed():
            self.typed = 0
            yield "escaped"

    def _clear(self) -> None:
        """Empty the working folder."""
        for each in self.stage.cwd.iterdir():
            _remove(each)

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
                facts = (status.st_mode, status.st_uid, status.st_gid, stamp)
                links = status.st_nlink if content else 0
                found[str(path)] = (content, *facts, links, *extra)
        return found

    def close(self) -> None:
        """End the stage."""
        self.stage.close()


def _remove(path: Path) -> None:
    """Remove a file or folder, whatever modes an attack has left."""
    if path.is_dir() and not path.is_symlink():
        for top, _, _ in os.walk(path):
            Path(top).chmod(0o700)
        shutil.rmtree(path)
    else:
        path.unlink()
