"""The name under which desktops know the program."""

DESKTOP_ID = "alt.hermes_desktop.HermesDesktop"
"""Name of the menu entry, icon, metainfo and window class, and the application id on Wayland.

``alt`` is the top-level name that RFC 9476 reserves for names outside the DNS, because the project
owns no domain. No other program's files can have this name, those of the official Hermes Desktop
included.
"""
