"""What a person can do with Hermes: asynchronous, without Qt. Window and command line use this."""
