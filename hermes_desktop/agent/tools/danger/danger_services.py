"""Assessment of programs with subcommands: repositories, containers, clouds, packages."""

import re
from collections.abc import Mapping, Sequence

from hermes_desktop.agent.tools.danger.danger_options import (
    Check,
    both,
    letters,
    matches,
    operands,
    unless,
)
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.shell_words import Word

# Repositories

_HIDDEN_SETTING = re.compile(
    r"(core|alias|diff|merge|filter|credential|gpg|ssh|url|http|pager|protocol|uploadpack|sequence"
    r"|include|includeif|man|web|browser|mergetool|difftool|init|interactive|trailer|sendemail"
    r"|instaweb|remote|submodule|tar|lfs|pack)\b",
    re.IGNORECASE,
)
_USUAL_SETTING = re.compile(
    r"^(core\.pager=(cat|less)?|core\.editor=(true|:|vim?|nano)|core\.(autocrlf|quotepath|abbrev)=\w*"
    r"|merge\.ff=\w+|diff\.(algorithm|renames|context\w*)=\w+|init\.defaultbranch=[\w/-]+"
    r"|http\.(sslverify=true|version=[\w/.]+|postbuffer=\d+|lowspeed\w+=\d+)|pack\.\w+=\d+m?"
    r"|protocol\.version=\d|submodule\.recurse=\w+)$",
    re.IGNORECASE,
)
_STARTS_OTHERS = re.compile(
    r"^(--upload-pack|--receive-pack|--exec(=|$)|--open-files-in-pager|--extcmd|--template|ext::)"
)
_SHOWS = frozenset({"--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list"})
_GIT_VALUES = frozenset(
    {"-c", "--config-env", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"}
)
_REWRITES = frozenset({"filter-branch", "filter-repo", "update-ref", "gc", "prune", "replace"})
_LOSES: Mapping[str, tuple[str, frozenset[str]]] = {
    "reset": ("", frozenset({"--hard", "--merge"})),
    "switch": ("fC", frozenset({"--discard-changes", "--force"})),
    "checkout": ("f", frozenset({".", "--", "--force"})),
    "branch": ("D", frozenset({"--delete", "-d"})),
    "stash": ("", frozenset({"drop", "clear"})),
    "reflog": ("", frozenset({"expire", "delete"})),
    "worktree": ("", frozenset({"remove", "prune"})),
    "tag": ("df", frozenset({"--delete"})),
}
"""For a subcommand of git: letters of flags, and words, by which work is lost."""
_RUNNING = frozenset({"bisect", "rebase", "submodule", "difftool", "mergetool"})


def _git(args: Sequence[Word], _places: Places, found: Found) -> None:
    rest = [each.text for each in args]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        value = rest.pop(0) if rest and option in _GIT_VALUES else option.partition("=")[2]
        hidden = option != "-C" and _HIDDEN_SETTING.match(value) and not _USUAL_SETTING.match(value)
        if option.startswith("--exec-path") or hidden:
            found.add("hidden-program", "lets git run an arbitrary program")
    verb, words = (rest[0] if rest else ""), rest[1:]
    given = letters(words)
    unseen = "{}" in verb or (not verb and any("{}" in each.text for each in args))
    if unseen or _loses_work(verb, set(words), given):
        found.add("git-loss", "undoes or deletes work that has no other copy")
    forced = ("--force", "--delete", "--mirror", "--prune", "+", ":")
    if verb == "push" and (given & {"f", "d"} or any(each.startswith(forced) for each in words)):
        found.add("git-force", "overwrites what others have pushed")
    changes = len(words) > 1 or "--edit" in words or "e" in given
    if verb == "config" and changes and not _SHOWS & set(words):
        found.add("hidden-program", "changes how git works, and what it runs")
    if verb == "credential":
        found.add("reads-secrets", "works with secrets")
    if _starts_others(verb, words):
        found.add("hidden-program", "lets git run an arbitrary program")
    if verb in _RUNNING and {"run", "--exec", "-x", "foreach", "--extcmd"} & set(words):
        found.add("indirect", "lets git run an arbitrary program")


def _starts_others(verb: str, words: Sequence[str]) -> bool:
    """Return whether an option names a program, or a setting that does."""
    if any(_STARTS_OTHERS.match(each) for each in words):
        return True
    if verb == "grep" and any(each.startswith("-O") for each in words):
        return True
    return verb == "clone" and any(
        word == "-u"
        or (word in {"-c", "--config"} and _HIDDEN_SETTING.match(value))
        or (word.startswith("--config=") and _HIDDEN_SETTING.match(word.partition("=")[2]))
        for word, value in zip(words, [*words[1:], ""], strict=False)
    )


def _loses_work(verb: str, words: set[str], given: set[str]) -> bool:
    if verb == "clean":
        return not ("n" in given or "--dry-run" in words)
    flags, names = _LOSES.get(verb, ("", frozenset()))
    is_lost = bool(given & set(flags) or words & names)
    return is_lost or verb in _REWRITES or (verb == "restore" and "--staged" not in words)


# Containers and services

_MOUNTS = re.compile(
    r"docker\.sock|(-v|--volume|source|src)[= ]?"
    r"(~(/\.[^:,]*)?/?|/home/[^/:,]+/\.[^:,]*|/(home|(etc|root|proc|sys|var|usr|boot)(/[^\s:]*)?)?)[:,]"
    r"|--privileged|--pid[= ]host|--cap-add|--net(work)?[= ]host"
)


def _runs_in_container(args: Sequence[Word], _places: Places, found: Found) -> None:
    verbs = {each.text for each in operands(args)[:2]}
    if verbs & {"run", "exec", "create", "cp"}:
        if _MOUNTS.search(" ".join(each.text for each in args)):
            found.add("privileges", "gives a container full access to the machine")
        if verbs & {"exec", "cp"}:
            found.add("indirect", "runs something in a container that cannot be judged")


_PUBLISHES = "publishes something, or signs in"
_CONTAINER = both(
    matches(
        r"^(stop|kill|rm|rmi|down|prune|restart|pause|delete|remove|destroy|reset)$",
        "containers", "stops or deletes containers or their data", verbs=2,
    ),
    _runs_in_container,
    matches(r"^push$", "publishes", _PUBLISHES),
    matches(r"^login$", "publishes", _PUBLISHES, verbs=2),
)  # fmt: skip
_SERVICES = "starts, stops or changes services"
_SERVICE = unless(r"^(status|--status-all)$", "system", _SERVICES)
_SYSTEMCTL = both(
    matches(
        r"^(poweroff|reboot|halt|kexec|suspend|hibernate|rescue|emergency|soft-reboot|exit)(\.target)?$",
        "power", "switches the machine off", hard=True,
    ),
    unless(
        r"^(status|show|cat|is-active|is-enabled|is-failed|list-(units|timers|unit-files|dependencies))$",
        "system", _SERVICES,
    ),
)  # fmt: skip


def _systemctl(args: Sequence[Word], places: Places, found: Found) -> None:
    if operands(args):
        _SYSTEMCTL(args, places, found)


# Clouds and packages

_TAKES = re.compile(
    r"^(delete|destroy|rm|remove|terminate|apply|drain|cordon|scale|rollout|replace|patch|purge|drop|wipe"
    r"|uninstall|unpublish|publish|upload|deploy|release|rb|evict|reset|rollback|revoke|archive|transfer"
    r"|edit|set|create|exec|import|taint|sync|put|down|merge|close)([-_]\w+)*$"
    r"|^(delete|terminate|put|update|create)-"
)  # fmt: skip


def _cloud(args: Sequence[Word], _places: Places, found: Found) -> None:
    texts = [each.text for each in args]
    verb = texts[0] if texts else ""
    looks = verb in {"get", "describe", "logs", "explain", "top"}
    by_api = verb == "api" and set(texts) & {"-X", "--method", "-f", "-F", "--input"}
    if by_api or (not looks and any(map(_TAKES.match, texts[:4]))):
        found.add("cloud", "changes or deletes something that runs elsewhere")
    if verb in {"auth", "configure", "login"} or "print-access-token" in texts:
        found.add("reads-secrets", "works with secrets")


def _configures(args: Sequence[Word], _places: Places, found: Found) -> None:
    if {"config", "set"} <= {each.text for each in args}:
        found.add("hidden-program", "changes how packages are fetched")


_PUBLISHER = both(
    matches(
        r"^(publish|unpublish|upload|deprecate|yank|owner|login|adduser|token)$",
        "publishes", "publishes something", verbs=2,
    ),
    _configures,
)  # fmt: skip
_LOOKS = {"list", "search", "show", "info", "policy", "depends", "rdepends", "changelog", "query"}
_CHANGES_SYSTEM = "installs or removes programs of the system"


def _system_packages(args: Sequence[Word], _places: Places, found: Found) -> None:
    texts = [each.text for each in args]
    verbs = {each for each in texts if not each.startswith("-")}
    short = "".join(each[1:] for each in texts if re.match(r"^-[A-Za-z]", each))
    looks = short[:1] in {"Q", "l", "s", "L"} and not verbs & {"install", "remove"}
    if (verbs or short) and not looks and not verbs & _LOOKS:
        found.add("system", _CHANGES_SYSTEM)


_BREW = matches(
    r"^(uninstall|remove|rm|cleanup|services|autoremove)$", "system", _CHANGES_SYSTEM, verbs=1
)

# Others


def _ps(args: Sequence[Word], _places: Places, found: Found) -> None:
    """Find that variables are shown: ``e`` among options without a hyphen."""
    takes_value = False
    for text in (each.text for each in args):
        if text.startswith("-"):
            takes_value = text in {"-p", "-o", "-C", "-u", "-U", "-g", "-G", "-t", "-s"}
            continue
        if not takes_value and "e" in text and text.isalpha():
            found.add("reads-secrets", "shows the environment of other programs")
        takes_value = text.endswith(("o", "p", "U", "t")) and text.isalpha()


_TRACER = matches(
    r"^(-[A-Za-z]*p|--attach)", "reads-secrets", "inspects another program while it runs"
)
HERMES = matches(
    r"^(stop|restart|kill|uninstall|reset|delete|prune|set|update|config|setup|approve|install|remove"
    r"|clear)$",
    "hermes", "changes Hermes itself",
)  # fmt: skip
SERVICES: Mapping[str, Check] = {
    "git": _git, "ps": _ps,
    **dict.fromkeys(("docker", "podman", "docker-compose", "nerdctl", "lxc", "virsh", "vagrant"),
                    _CONTAINER),
    **dict.fromkeys(("kubectl", "helm", "terraform", "tofu", "pulumi", "aws", "gcloud", "gsutil",
                     "az", "gh", "glab", "heroku", "fly", "flyctl", "doctl", "s3cmd", "vercel",
                     "netlify", "wrangler", "firebase"), _cloud),
    "systemctl": _systemctl, **dict.fromkeys(("service", "rc-service", "launchctl"), _SERVICE),
    **dict.fromkeys(("npm", "yarn", "pnpm", "cargo", "twine", "gem", "poetry", "uv"), _PUBLISHER),
    "pip": _configures, "pip3": _configures,
    **dict.fromkeys(("apt", "apt-get", "dpkg", "dnf", "yum", "zypper", "pacman", "rpm", "apk",
                     "snap", "flatpak"), _system_packages),
    "brew": _BREW, "strace": _TRACER, "ltrace": _TRACER,
}  # fmt: skip
