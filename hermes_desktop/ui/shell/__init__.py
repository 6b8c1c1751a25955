"""The window: navigation, tray, menus."""
