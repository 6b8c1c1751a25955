"""Install a Debian package in a copy of a minimal system, try it, and remove it again.

    PYTHONPATH=packaging python -m tests.ci.package_trial FILE.deb BASE

Needs root. BASE is a minimal Debian of the package's release, as debootstrap makes it; it is only
read. Dependencies are installed first, so that the two lists of files differ by what the package
leaves behind. The program runs as an ordinary user without a screen.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from debian.releases import PACKAGE

from hermes_desktop import __version__
from hermes_desktop.core.desktop_id import DESKTOP_ID
from tests.ci.bare_root import BareRoot

_HOME = "/tmp/home"
_LIST = (
    "find / -xdev -not -path '/proc/*' -not -path '/var/log/*' -not -path '/var/cache/*'"
    " -not -path '/var/lib/apt/*' -not -path '/var/lib/dpkg/*' -not -path '/tmp/*' | sort"
)
_PREPARE = f"""\
set -e
apt-get update -qq
apt-get satisfy -y -qq --no-install-recommends "$(dpkg-deb --field /package.deb Depends)" >/dev/null
{_LIST} > /tmp/before.txt
"""
_INSTALL = """\
set -e
dpkg --install /package.deb
"""
_TRY = f"""\
set -e
install -d -o 1000 -g 1000 {_HOME}
as_user() {{ setpriv --reuid=1000 --regid=1000 --clear-groups env HOME={_HOME} "$@"; }}
cd {_HOME}
test "$(as_user hermes-desktop --version)" = "Hermes Desktop, version {__version__}"
as_user hermes-desktop --self-test
as_user hermes-desktop config reference > /dev/null
as_user hermes-desktop --demo --screenshot demo.png
test -s demo.png
test -s /usr/share/applications/{DESKTOP_ID}.desktop
test -s /usr/share/icons/hicolor/48x48/apps/{DESKTOP_ID}.png
as_user /usr/lib/{PACKAGE}/bin/python3 - <<'END'
import asyncio, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import httpx, keyring.backends.SecretService, telegram.ext
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()
server = HTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
async def fetch():
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(f"http://127.0.0.1:{{server.server_port}}/")
assert asyncio.run(fetch()).status_code == 204
END
find /usr/lib/{PACKAGE} -name '*.so*' -type f > /tmp/libraries.txt
while read -r file; do ldd "$file" | sed -n "s|.*not found|& in $file|p"; done \\
  < /tmp/libraries.txt > /tmp/missing.txt
cat /tmp/missing.txt
test -z "$(grep -v libqgtk3.so /tmp/missing.txt)"
du -sm /usr/lib/{PACKAGE}
"""
_REMOVE = f"""\
set -e
cd /
dpkg --purge {PACKAGE}
{_LIST} > /tmp/after.txt
diff /tmp/before.txt /tmp/after.txt
wc -l < /tmp/after.txt
"""


def try_package(package: Path, base: Path) -> int:
    """Run the trial; return its exit code."""
    with tempfile.TemporaryDirectory(prefix="package-trial-") as folder:
        path = Path(folder) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", base, path], check=True)
        subprocess.run(["cp", "-L", "/etc/resolv.conf", path / "etc/resolv.conf"], check=True)
        subprocess.run(["cp", package, path / "package.deb"], check=True)
        root = BareRoot(path, ())
        root.checkout.mkdir()  # lines run there
        variables = {"LC_ALL": "C.UTF-8", "QT_QPA_PLATFORM": "offscreen"}
        for step in (_PREPARE, _INSTALL, _TRY, _REMOVE):
            if code := root.run(step, variables):
                return code
    print("Nothing of the package is left.")
    return 0


if __name__ == "__main__":
    sys.exit(try_package(Path(sys.argv[1]), Path(sys.argv[2])))
