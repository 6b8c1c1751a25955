"""One conversation turn: prompt in, result out. Does not know who asked."""
