"""Every file that a Linux package installs for desktops, shells and readers, by its path."""

from hermes_desktop.core.desktop_id import DESKTOP_ID
from linux.completions import completion
from linux.facts import COMMAND, Release
from linux.icons import SIZES, icon_png, scalable_icon, symbolic_icon
from linux.manual import manual_pages
from linux.menu_entry import menu_entry
from linux.metainfo import metainfo
from linux.service import UNIT, gateway_unit

HICOLOR = "usr/share/icons/hicolor"


def desktop_tree(release: Release) -> dict[str, bytes]:
    """Return the content of each file by its path, which is relative to the root."""
    share = "usr/share"
    texts = {
        f"{share}/applications/{DESKTOP_ID}.desktop": menu_entry(),
        f"{share}/metainfo/{DESKTOP_ID}.metainfo.xml": metainfo(release),
        f"{HICOLOR}/symbolic/apps/{DESKTOP_ID}-symbolic.svg": symbolic_icon(),
        f"usr/lib/systemd/user/{UNIT}": gateway_unit(),
        f"{share}/bash-completion/completions/{COMMAND}": completion("bash"),
        f"{share}/zsh/vendor-completions/_{COMMAND}": completion("zsh"),
        f"{share}/fish/vendor_completions.d/{COMMAND}.fish": completion("fish"),
    }
    texts |= {f"{share}/man/man1/{name}": page for name, page in manual_pages(release).items()}
    files = {path: text.encode() for path, text in texts.items()}
    files[f"{HICOLOR}/scalable/apps/{DESKTOP_ID}.svg"] = scalable_icon()
    for size in SIZES:
        files[f"{HICOLOR}/{size}x{size}/apps/{DESKTOP_ID}.png"] = icon_png(size)
    return dict(sorted(files.items()))
