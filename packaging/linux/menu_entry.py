"""The entry in the menu of programs."""

from hermes_desktop.core.desktop_id import DESKTOP_ID
from linux.facts import CATEGORIES, COMMAND, KEYWORDS, NAME, SUMMARY


def menu_entry() -> str:
    """Return the ``.desktop`` file."""
    values = {
        "Type": "Application",
        "Name": NAME,
        "GenericName": "Assistant",
        "Comment": SUMMARY,
        "Exec": COMMAND,
        "TryExec": COMMAND,
        "Icon": DESKTOP_ID,
        "Terminal": "false",
        "Categories": _listed(CATEGORIES),
        "Keywords": _listed(KEYWORDS),
        "StartupNotify": "true",
        "StartupWMClass": DESKTOP_ID,
        "X-GNOME-SingleWindow": "true",
        "Actions": _listed(("hidden", "demo")),
    }
    actions = {
        "hidden": ("Start in the Tray", f"{COMMAND} --hidden"),
        "demo": ("Demonstration with Sample Sessions", f"{COMMAND} --demo"),
    }
    groups = [("Desktop Entry", values)]
    groups += [
        (f"Desktop Action {name}", {"Name": title, "Exec": line})
        for name, (title, line) in actions.items()
    ]
    return "\n".join(_group(name, keys) for name, keys in groups)


def _group(name: str, values: dict[str, str]) -> str:
    return "".join((f"[{name}]\n", *(f"{key}={value}\n" for key, value in values.items())))


def _listed(values: tuple[str, ...]) -> str:
    return "".join(f"{value};" for value in values)
