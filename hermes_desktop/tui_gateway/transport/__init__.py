"""How frames come in and go out: the program's own streams, or a socket with several clients."""
