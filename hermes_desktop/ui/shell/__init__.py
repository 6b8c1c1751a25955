"""The main window: pages, navigation, menus, and the tray icon."""
