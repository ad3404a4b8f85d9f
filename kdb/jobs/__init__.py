"""Work in the background: jobs, what wakes workers for them, and the processes that one command keeps running."""
