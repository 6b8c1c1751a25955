"""The list of files and folders that contain secrets or start programs automatically.

The sandbox hides them, file tools and the rules on commands ask before they touch them, and what
our own stores hold is removed from texts. Pure: nothing here looks at a disk.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

OWN_STORES = (".env", "auth.json", "shared/nous_auth.json", ".anthropic_oauth.json")
"""Files below a Hermes home whose values are secrets."""
OWN_NAMES = ("config.yaml", "auth.json", ".env", "gateway.json", "state.db", "desktop.db")
"""Names of files in a Hermes home that may contain secrets or conversations."""
NEVER_OPENED = (
    *(".env", "auth.json", "auth.lock", "state.db", "desktop.db", ".anthropic_oauth"),
    "nous_auth.json",
)
"""How the names of files in a Hermes home begin that no tool opens, even with approval."""

KEPT_IN_HOME = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".pki"),
    *(".mozilla", ".thunderbird", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".npmrc"),
    *(".pypirc", ".vault-token", ".my.cnf", ".s3cfg", ".boto", ".htpasswd", ".yarnrc.yml"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials"),
    *(".terraform.d/credentials.tfrc.json", ".claude/.credentials.json", ".codex/auth.json"),
    *(".qwen/oauth_creds.json", ".gemini/oauth_creds.json", ".m2/settings.xml", ".config/gh"),
    *(".config/gcloud", ".config/git/credentials", ".config/google-chrome", ".config/chromium"),
    *(".config/google-chrome-beta", ".config/BraveSoftware", ".config/microsoft-edge"),
    *(".config/vivaldi", ".config/Signal", ".config/Bitwarden", ".config/Bitwarden CLI"),
    *(".config/1Password", ".config/op", ".config/rclone", ".config/containers", ".config/pip"),
    *(".config/hub", ".config/glab-cli", ".config/doctl", ".config/sops", ".config/age"),
    *(".local/share/keyrings", ".local/share/kwalletd", ".local/share/containers/auth.json"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".var/app"),
)
"""Files and folders below a user's home that hold secrets."""
SHELL_FILES = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
    *(".login", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".inputrc", ".vimrc"),
    *(".pam_environment", ".gitconfig", ".tmux.conf", ".hgrc", ".wgetrc", ".curlrc"),
)
"""Names of files that shells and other programs of every day obey."""
STARTS_IN_HOME = (
    *(".config/autostart", ".config/systemd", ".config/environment.d", ".config/fish"),
    *(".config/plasma-workspace", ".local/share/dbus-1", ".local/share/applications"),
    *(".local/share/systemd", ".local/share/nautilus", ".local/bin", *SHELL_FILES),
)
"""Files and folders below a user's home that start programs or configure them."""
KEPT_IN_ETC = (
    *("shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "krb5.keytab"),
    *("ssh/ssh_host_rsa_key", "ssh/ssh_host_ecdsa_key", "ssh/ssh_host_ed25519_key"),
    *("ssl/private", "NetworkManager/system-connections", "wireguard", "letsencrypt", "ppp"),
    *("security/opasswd", "wpa_supplicant", "netplan", "cups/ssl", "docker", "kubernetes"),
)
"""Files and folders below ``/etc`` that hold secrets."""

_ANYWHERE = re.compile(
    r"(^|/)(\.ssh|\.gnupg|\.aws|\.kube|\.password-store|\.azure|keyrings)(/|$)"
    r"|(^|/)(google-chrome[\w-]*|chromium|BraveSoftware|microsoft-edge|\.mozilla|\.thunderbird"
    r"|kwalletd|Signal|Bitwarden( CLI)?|1Password)/"
    r"|(^|/)(\.docker/config\.json|gh/hosts\.ya?ml|\.config/gcloud/.*)$"
    r"|^/proc/([^/]+/task/)?[^/]+/(environ|mem|maps|fd|root|cwd)"
)
_NAMES = re.compile(
    r"(^|/)(\.env(\.(?!([\w.-]+\.)?(example|sample|template|dist)$)[\w.-]+)?|[._]netrc|\.pgpass"
    r"|\.git-credentials|id_(rsa|dsa|ecdsa|ed25519)[\w-]*|credentials(\.json|\.ya?ml)?"
    r"|[\w.-]+\.(pem|p12|pfx|kdbx|keystore|jks)|auth\.json|secrets?\.(json|ya?ml|toml|env)"
    r"|\.htpasswd|\.s3cfg|\.boto|rclone\.conf|credentials\.(toml|db|tfrc\.json)|\.vault-token"
    r"|oauth_creds\.json|\.credentials\.json|nous_auth\.json|\.anthropic_oauth\.json"
    r"|\.my\.cnf|g?shadow|cookies\.sqlite|logins\.json|key4\.db|Login Data|\.npmrc|\.pypirc"
    r"|kubeconfig)$"
)
_STARTS = re.compile(
    r"(^|/)(\.ssh|\.gnupg|\.aws|\.kube|\.docker|\.azure|\.password-store|\.mozilla|\.git/hooks"
    r"|\.config/(autostart|systemd|fish|git|gh|gcloud|environment\.d)|\.local/share/keyrings"
    r"|\.local/bin|\.git/config|crontabs?|cron\.[a-z]+|LaunchAgents|LaunchDaemons)(/|$)"
)
_TYPICAL = (
    *(".env", ".env.local", "id_rsa", "id_ed25519", "credentials", "config.yaml", ".netrc"),
    *("auth.json", "state.db", ".git-credentials"),
)
MENTIONED = r"(\.env\b|id_rsa|credentials|\.netrc|\.pgpass)"
"""A pattern for the best known of these names, within text for the user."""


def hidden_in_home() -> tuple[str, ...]:
    """Return what no command reads or changes below a user's home, as relative paths."""
    return tuple(dict.fromkeys((*KEPT_IN_HOME, ".hermes", *STARTS_IN_HOME)))


def keeps_secrets(path: str, user_home: str) -> bool:
    """Return whether a path, absolute and without ``..``, leads to secrets.

    Args:
        path: The path.
        user_home: The user's home folder.
    """
    if _NAMES.search(path) or _ANYWHERE.search(path):
        return True
    return _is_below(path, user_home, KEPT_IN_HOME) or _is_below(path, "/etc", KEPT_IN_ETC)


def starts_by_itself(path: str, user_home: str) -> bool:
    """Return whether other programs run or obey a file at a path automatically.

    Args:
        path: The path, absolute and without ``..``.
        user_home: The user's home folder.
    """
    name = path.rpartition("/")[2]
    known = name in SHELL_FILES or name in KEPT_IN_HOME or bool(_STARTS.search(path))
    return known or _is_below(path, user_home, STARTS_IN_HOME)


def may_match_a_secret(pattern: str) -> bool:
    """Return whether a pattern for names of files may match one that holds secrets."""
    return any(fnmatchcase(each, pattern) for each in _TYPICAL)


def _is_below(path: str, folder: str, names: Iterable[str]) -> bool:
    beginning = folder.rstrip("/") + "/"
    if not path.startswith(beginning):
        return False
    inside = path[len(beginning) :]
    return any(inside == each or inside.startswith(each + "/") for each in names)
