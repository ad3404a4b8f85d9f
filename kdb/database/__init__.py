"""Code that opens the databases, reads from them and fills them."""
