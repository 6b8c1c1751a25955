"""Child processes and process trees: starting, limiting, finding and ending them."""
