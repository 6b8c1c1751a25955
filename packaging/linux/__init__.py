"""Files with which a Linux desktop and its shells know the program."""
