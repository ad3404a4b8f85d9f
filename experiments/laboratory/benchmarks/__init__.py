"""The load of a run, watched to its end, and what is known of it."""
