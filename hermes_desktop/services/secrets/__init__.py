"""Storage of secrets, and facts about each of them."""
