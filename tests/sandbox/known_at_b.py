"""What level B does not hold, beside modes, times and owners of files, as is said to the user.

None of it changes or shows the content of a file outside, or reaches the network.
"""

KNOWN_AT_B: frozenset[str] = frozenset(
    {
        "calls/read a link",  # where it leads; nothing of a file
        "calls/watch a folder",  # names of files that change
        "kernel/command line of another",
        "kernel/shared memory is listed",
        "network/sockets of others",  # that a port is listened on
        "network/sockets of others by a file",
        "network/unix sockets of others",
    }
)
