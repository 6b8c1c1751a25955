"""Display text for values: ages, days, states and names. No widgets."""
