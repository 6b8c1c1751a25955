"""One turn: prompt in, result out. Independent of the caller."""
