"""Assessment of programs with subcommands: repositories, containers, clouds, packages."""

import re
from collections.abc import Callable, Mapping, Sequence

from hermes_desktop.agent.tools.danger.danger_words import Found

_HIDDEN_SETTING = re.compile(
    r"(core|alias|diff|merge|filter|credential|gpg|ssh|url|http|pager|protocol|uploadpack|sequence"
    r"|include|includeif|man|web|browser|mergetool|difftool|init|interactive|trailer|sendemail"
    r"|instaweb|remote|submodule|tar|lfs|pack)\b",
    re.IGNORECASE,
)
_USUAL = re.compile(
    r"^(core\.pager=(cat|less)?|core\.editor=(true|:|vim?|nano)|core\.(autocrlf|quotepath|abbrev)=\w*"
    r"|merge\.ff=\w+|diff\.(algorithm|renames|context\w*)=\w+|init\.defaultbranch=[\w/-]+"
    r"|http\.(sslverify=true|version=[\w/.]+|postbuffer=\d+|lowspeed\w+=\d+)|pack\.\w+=\d+m?"
    r"|protocol\.version=\d|submodule\.recurse=\w+)$",
    re.IGNORECASE,
)
_STARTS_OTHERS = re.compile(
    r"^(--upload-pack|--receive-pack|--exec(=|$)|--open-files-in-pager|--extcmd|--template|ext::)"
)
_LOST = "takes back or deletes work that was not kept elsewhere"
_SHOWS = frozenset({"--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list"})


_GIT_VALUES = frozenset(
    {"-c", "--config-env", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"}
)


def _git(args: Sequence[str], found: Found) -> None:
    rest = list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        value = rest.pop(0) if rest and option in _GIT_VALUES else option.partition("=")[2]
        hidden = option != "-C" and _HIDDEN_SETTING.match(value) and not _USUAL.match(value)
        if option.startswith("--exec-path") or hidden:
            found.add("hidden-program", "lets git run a program of one's choice")
    verb, words = (rest[0] if rest else ""), rest[1:]
    flags = {letter for each in words if re.match(r"^-[A-Za-z]", each) for letter in each[1:]}
    if _loses_work(verb, set(words), flags):
        found.add("git-loss", _LOST)
    forced = ("--force", "--delete", "--mirror", "--prune", "+", ":")
    if verb == "push" and (flags & {"f", "d"} or any(each.startswith(forced) for each in words)):
        found.add("git-force", "overwrites what others have pushed")
    changes = len(words) > 1 or "--edit" in words or "e" in flags
    if verb == "config" and changes and not _SHOWS & set(words):
        found.add("hidden-program", "changes how git works, and what it runs")
    if "{}" in verb or (not verb and "{}" in " ".join(args)):
        found.add("git-loss", _LOST)
    if verb == "credential":
        found.add("reads-secrets", "works with secrets")
    if _starts_others(verb, words):
        found.add("hidden-program", "lets git run a program of one's choice")
    runs = {"run", "--exec", "-x", "foreach", "--extcmd"}
    if verb in {"bisect", "rebase", "submodule", "difftool", "mergetool"} and runs & set(words):
        found.add("indirect", "lets git run a program of one's choice")


def _starts_others(verb: str, words: Sequence[str]) -> bool:
    """Return whether an option names a program, or a setting that does."""
    if any(_STARTS_OTHERS.match(each) for each in words):
        return True
    if verb == "grep" and any(re.match(r"^-O", each) for each in words):
        return True
    if verb != "clone":
        return False
    pairs = zip(words, [*words[1:], ""], strict=False)
    return any(
        word == "-u"
        or (word in {"-c", "--config"} and _HIDDEN_SETTING.match(value))
        or (word.startswith("--config=") and _HIDDEN_SETTING.match(word.partition("=")[2]))
        for word, value in pairs
    )


def _loses_work(verb: str, words: set[str], flags: set[str]) -> bool:
    rules = {
        "reset": bool(words & {"--hard", "--merge"}),
        "switch": bool(flags & {"f", "C"}) or bool(words & {"--discard-changes", "--force"}),
        "clean": not ("n" in flags or "--dry-run" in words),
        "checkout": "f" in flags or bool(words & {".", "--", "--force"}),
        "restore": "--staged" not in words,
        "branch": "D" in flags or bool(words & {"--delete", "-d"}),
        "stash": bool(words & {"drop", "clear"}),
        "reflog": bool(words & {"expire", "delete"}),
        "worktree": bool(words & {"remove", "prune"}),
        "tag": bool(flags & {"d", "f"}) or "--delete" in words,
    }
    rewrites = {"filter-branch", "filter-repo", "update-ref", "gc", "prune", "replace"}
    return verb in rewrites or rules.get(verb, False)


def _container(args: Sequence[str], found: Found) -> None:
    words = {each for each in args if not each.startswith("-")}
    verbs = set([each for each in args if not each.startswith("-")][:2])
    if verbs & {
        "stop",
        "kill",
        "rm",
        "rmi",
        "down",
        "prune",
        "restart",
        "pause",
        "delete",
        "remove",
        "destroy",
        "reset",
    }:
        found.add("containers", "stops or deletes containers, or what they hold")
    joined = " ".join(args)
    if verbs & {"run", "exec", "create", "cp"}:
        mounts = re.search(
            r"docker\.sock|(-v|--volume|source|src)[= ]?"
            r"(~(/\.[^:,]*)?/?|/home/[^/:,]+/\.[^:,]*|/(home|(etc|root|proc|sys|var|usr|boot)(/[^\s:]*)?)?)[:,]",
            joined,
        )
        if mounts or re.search(
            r"--privileged|--pid[= ]host|--cap-add|--net(work)?[= ]host", joined
        ):
            found.add("privileges", "gives a container the rights of the whole machine")
        if verbs & {"exec", "cp"}:
            found.add("indirect", "does things in a container that cannot be judged")
    if "push" in words or "login" in verbs:
        found.add("publishes", "hands something out, or signs in")


def _systemctl(args: Sequence[str], found: Found) -> None:
    words = {each.removesuffix(".target") for each in args if not each.startswith("-")}
    if words & {
        "poweroff",
        "reboot",
        "halt",
        "kexec",
        "suspend",
        "hibernate",
        "rescue",
        "emergency",
        "soft-reboot",
        "exit",
    }:
        found.add("power", "switches the machine off", hard=True)
    if not words or words & {
        "status",
        "show",
        "cat",
        "is-active",
        "is-enabled",
        "list-units",
        "list-timers",
        "list-unit-files",
        "is-failed",
        "list-dependencies",
    }:
        return
    found.add("system", "starts, stops or changes services")


def _service(args: Sequence[str], found: Found) -> None:
    if "status" not in args and "--status-all" not in args:
        found.add("system", "starts, stops or changes services")


_TAKES = re.compile(
    r"^(delete|destroy|rm|remove|terminate|apply|drain|cordon|scale|rollout|replace|patch|purge|drop|wipe"
    r"|uninstall|unpublish|publish|upload|deploy|release|rb|evict|reset|rollback|revoke|archive|transfer"
    r"|edit|set|create|exec|import|taint|sync|put|down|merge|close)([-_]\w+)*$"
)  # fmt: skip


def _cloud(args: Sequence[str], found: Found) -> None:
    looks = args[:1] and args[0] in {"get", "describe", "logs", "explain", "top"}
    if not looks and any(
        _TAKES.match(each) or re.match(r"^(delete|terminate|put|update|create)-", each)
        for each in args[:4]
    ):
        found.add("cloud", "changes or deletes something that runs elsewhere")
    if args[:1] in (["auth"], ["configure"], ["login"]) or "print-access-token" in args:
        found.add("reads-secrets", "works with secrets")
    if args[:1] == ["api"] and set(args) & {"-X", "--method", "-f", "-F", "--input"}:
        found.add("cloud", "changes or deletes something that runs elsewhere")


def _publisher(args: Sequence[str], found: Found) -> None:
    verbs = [each for each in args if not each.startswith("-")][:2]
    if set(verbs) & {
        "publish",
        "unpublish",
        "upload",
        "deprecate",
        "yank",
        "owner",
        "login",
        "adduser",
        "token",
    }:
        found.add("publishes", "hands something out to the world")
    if set(verbs) & {"config"} and "set" in args:
        found.add("hidden-program", "changes how packages are fetched")


def _system_packages(args: Sequence[str], found: Found) -> None:
    verbs = {each for each in args if not each.startswith("-")}
    looks = {
        "list",
        "search",
        "show",
        "info",
        "policy",
        "depends",
        "rdepends",
        "changelog",
        "query",
    }
    flags = "".join(each[1:] for each in args if re.match(r"^-[A-Za-z]", each))
    is_look = bool(verbs & looks) or (
        flags[:1] in {"Q", "l", "s", "L"} and not verbs & {"install", "remove"}
    )
    if not is_look and (verbs or flags):
        found.add("system", "installs or removes programs of the system")


def _brew(args: Sequence[str], found: Found) -> None:
    if args[:1] and args[0] in {"uninstall", "remove", "rm", "cleanup", "services", "autoremove"}:
        found.add("system", "installs or removes programs of the system")


SERVICES: Mapping[str, Callable[[Sequence[str], Found], None]] = {
    "git": _git, "docker": _container, "podman": _container, "docker-compose": _container,
    "nerdctl": _container, "lxc": _container, "virsh": _container, "vagrant": _container,
    "kubectl": _cloud, "helm": _cloud, "terraform": _cloud, "tofu": _cloud, "pulumi": _cloud,
    "aws": _cloud, "gcloud": _cloud, "gsutil": _cloud, "az": _cloud, "gh": _cloud, "glab": _cloud,
    "heroku": _cloud, "fly": _cloud, "flyctl": _cloud, "doctl": _cloud, "s3cmd": _cloud,
    "vercel": _cloud, "netlify": _cloud, "wrangler": _cloud, "firebase": _cloud,
    "systemctl": _systemctl, "service": _service, "rc-service": _service, "launchctl": _service,
    "npm": _publisher, "yarn": _publisher, "pnpm": _publisher, "cargo": _publisher,
    "twine": _publisher, "gem": _publisher, "poetry": _publisher, "uv": _publisher,
    "apt": _system_packages, "apt-get": _system_packages, "dpkg": _system_packages,
    "dnf": _system_packages, "yum": _system_packages, "zypper": _system_packages,
    "pacman": _system_packages, "rpm": _system_packages, "apk": _system_packages,
    "snap": _system_packages, "flatpak": _system_packages, "brew": _brew,
}  # fmt: skip
