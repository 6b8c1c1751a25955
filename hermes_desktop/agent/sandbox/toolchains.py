"""The files of the system and of recognised toolchains, which sandboxed programs may read."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hermes_desktop.core.files.secret_places import KEPT_IN_ETC

SYSTEM = ("/usr", "/etc", "/opt", "/nix/store", "/gnu/store", "/snap")
MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, folders on others."""
DATA = (
    "/var/lib/dpkg",
    "/var/lib/texmf",
    "/var/lib/ghostscript",
    "/var/cache/fontconfig",
    "/var/lib/dictionaries-common",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
)
_ROOTS = (
    *(".pyenv", ".nvm/versions", ".nvm/alias", ".rustup", ".cargo/bin", ".rbenv", ".volta/bin"),
    *(".volta/tools", ".sdkman/candidates", ".asdf/installs", ".asdf/shims", ".ghcup/bin"),
    *("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".juliaup/bin"),
    *(".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx/venvs"),
    *(".local/pipx/venvs", ".local/share/mise/installs", ".local/share/fnm/node-versions"),
    *(".fnm/node-versions", "go/bin", ".deno/bin", ".bun/bin", ".dotnet", ".nodenv", ".TinyTeX"),
    *(".texlive", ".local/share/TinyTeX", ".julia/juliaup"),
)
_PROGRAMS = ("uv", "uvx", "pipx", "poetry", "ruff", "mise", "hatch", "pdm")
"""Programs in ``~/.local/bin`` that are single files; the folder itself is never granted."""
_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_GIT = (".config/git/ignore", ".config/git/attributes", ".gitignore_global", ".gitattributes")


def system_folders() -> tuple[Path, ...]:
    """Return the folders of the system that exist here and are no links."""
    found = (Path(each) for each in (*SYSTEM, *MERGED, *DATA))
    return tuple(each for each in found if each.exists() and not each.is_symlink())


def system_links() -> tuple[tuple[str, str], ...]:
    """Return the links at the root into /usr, as target and name."""
    found = (Path(each) for each in MERGED)
    return tuple((str(each.readlink()), str(each)) for each in found if each.is_symlink())


def system_secrets() -> tuple[Path, ...]:
    """Return files and folders below /etc that we could read and no command should."""
    found = (Path("/etc", each) for each in KEPT_IN_ETC)
    return tuple(each for each in found if os.access(each, os.R_OK) and not each.is_symlink())


def toolchains(home: Path, folder: Path) -> tuple[Path, ...]:
    """Return the recognised toolchains in a home, and those of the folder's environments.

    Never the home, ``~/.local`` or ``~/.cache`` as a whole.

    Args:
        home: The user's home folder.
        folder: The working folder.
    """
    found = [path for each in _ROOTS if (path := home / each).is_dir()]
    found += _programs(home, found)
    found += [path for each in _GIT if (path := home / each).is_file()]
    prefixes = [Path(sys.base_prefix), *(_prefixes_of_environments(folder))]
    found += [each for each in prefixes if _is_interpreter(each, home)]
    return tuple(dict.fromkeys(each for each in found if not _is_system(each)))


def _programs(home: Path, roots: Iterable[Path]) -> Iterator[Path]:
    """Find single programs of ``~/.local/bin``: known ones, and links into recognised roots."""
    real = [each.resolve() for each in roots]
    with contextlib.suppress(OSError):
        for each in (home / ".local/bin").iterdir():
            target = Path(os.path.realpath(each))  # a link to itself is no error
            in_root = any(root in target.parents for root in real)
            if target.is_file() and (in_root or (each.name in _PROGRAMS and target == each)):
                yield each


def _prefixes_of_environments(folder: Path) -> Iterator[Path]:
    for name in _ENVIRONMENTS:
        python = folder / name / "bin" / "python"
        if python.is_symlink():
            with contextlib.suppress(OSError, RuntimeError):
                yield python.resolve(strict=True).parent.parent


def _is_interpreter(prefix: Path, home: Path) -> bool:
    """Return whether a folder is the installation of a Python, and nothing else besides."""
    forbidden = {home, home / ".local", home / ".cache", *home.parents}
    if prefix in forbidden or not (prefix / "bin").is_dir():
        return False
    return any((each / "os.py").is_file() for each in prefix.glob("lib/python3*"))


def _is_system(path: Path) -> bool:
    return any(path == Path(each) or Path(each) in path.parents for each in ("/usr", "/opt"))


# ------------------------------------------------------------------------------- the environment

_KEPT = frozenset(
    {
        *("LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "PATH", "HOME", "USER", "LOGNAME"),
        *("SHELL", "TZ", "EDITOR", "CI", "SOURCE_DATE_EPOCH", "VIRTUAL_ENV", "CONDA_PREFIX"),
        *("CONDA_DEFAULT_ENV", "CONDA_EXE", "NVM_DIR", "NVM_BIN", "PYENV_ROOT", "PYENV_VERSION"),
        *("RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GOROOT", "GOFLAGS", "CC", "CXX"),
        *("CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "DOTNET_ROOT", "COLUMNS", "LINES"),
        *("PKG_CONFIG_PATH", "TEXMFHOME", "ANDROID_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
        *("PIP_CERT", "HERMES_DESKTOP_RUN"),
    }
)
"""``HERMES_DESKTOP_RUN`` is the mark by which everything that a program starts is found."""
_KEPT_BEGINNING = ("LC_",)


def environment(environ: Mapping[str, str], *, temporary: str, caches: Path) -> dict[str, str]:
    """Return the environment of a sandboxed program.

    Args:
        environ: The environment without secrets; only what is on a list is kept.
        temporary: The temporary folder, as the program sees it.
        caches: The folder of its private caches.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or name.startswith(_KEPT_BEGINNING)
    }
    return {
        **kept,
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(caches),
        "PIP_CACHE_DIR": str(caches / "pip"),
        "UV_CACHE_DIR": str(caches / "uv"),
        "UV_LINK_MODE": "copy",  # a shared file behind a hard link would be a way out
        "npm_config_cache": str(caches / "npm"),
        "YARN_CACHE_FOLDER": str(caches / "yarn"),
        "GOCACHE": str(caches / "go-build"),
        "GOPATH": str(caches / "go"),
        "CARGO_HOME": str(caches / "cargo"),
        "GNUPGHOME": str(caches / "gnupg"),
        "GIT_TERMINAL_PROMPT": "0",
    }


# ------------------------------------------------------------------------- the settings of git

_GIT_SECTIONS = frozenset(
    {
        *("user", "author", "committer", "init", "color", "push", "pull", "merge", "rebase"),
        *("diff", "branch", "commit", "fetch", "advice", "log", "status", "i18n", "tag", "rerere"),
        *("pretty", "format", "column", "safe", "apply", "grep", "blame", "stash", "worktree"),
    }
)
_GIT_CORE = frozenset(
    {
        *("autocrlf", "eol", "safecrlf", "filemode", "ignorecase", "precomposeunicode", "symlinks"),
        *("quotepath", "whitespace", "abbrev", "excludesfile", "attributesfile", "commentchar"),
    }
)


def settings_of_git(text: str) -> str:
    """Return a user's settings of git without credentials, programs and inclusions.

    Sections are kept by an allow list; lines that continue a dropped one are dropped with it.
    """
    kept: list[str] = []
    section, keeps = "", False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            section = stripped[1:].split("]")[0].split('"')[0].strip().lower()
            keeps = section in _GIT_SECTIONS or section == "core"
            if "]" in stripped and stripped.rpartition("]")[2].strip():
                keeps = False  # a value on the line of the section
            if keeps:
                kept.append(stripped)
            continue
        name = stripped.partition("=")[0].strip().lower()
        known = name in _GIT_CORE if section == "core" else name != "gpgsign"  # no key is inside
        if keeps and known and not stripped.endswith("\\"):
            kept.append(f"\t{stripped}")
    return "\n".join(kept) + "\n"
