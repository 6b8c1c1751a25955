"""The messaging gateway: routes messages between platforms and the agent."""
