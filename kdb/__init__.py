"""KDB: what is known about file-system performance under hypervisors."""

import os

__version__ = "1.0.0"

# Before numpy is imported: its matrices are small here, and threads that wait for each other cost more than they
# bring. Processes share the cores: docs/models/network.md has what was measured.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
