"""Opens the proxy's listening socket inside a sandbox and becomes the command.

Standard library only. Run as ``python -I -S proxy_start.py DESCRIPTOR PORT PROGRAM ARGUMENTS…``;
the descriptor is a Unix socket to the program outside, which accepts the connections. If anything
fails, it ends with code 125 and starts nothing.
"""

import os
import socket
import sys
from typing import NoReturn

FAILED = 125


def main() -> NoReturn:
    """Open the socket, hand it out, and become the command."""
    try:
        descriptor, port, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
        with (
            socket.socket(fileno=descriptor) as outside,
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening,
        ):
            listening.bind(("127.0.0.1", port))
            listening.listen(64)
            socket.send_fds(outside, [b"l"], [listening.fileno()])
        os.execvp(argv[0], argv)  # noqa: S606 - that is its purpose
    except (OSError, ValueError, IndexError) as error:
        sys.stderr.write(f"The sandbox could not be set up; nothing was run: {error}\n")
        sys.stderr.flush()
    os._exit(FAILED)


if __name__ == "__main__":
    main()
