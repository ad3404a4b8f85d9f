"""Read what small programs that measure one disk print."""
