"""The runner: takes messages in, runs turns, hands replies out."""
