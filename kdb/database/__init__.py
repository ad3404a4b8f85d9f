"""Connect to the databases, and read and write them fast."""
