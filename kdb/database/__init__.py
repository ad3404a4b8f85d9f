"""How the databases are opened, read from and filled."""
