"""KDB: what is known about file-system performance under hypervisors."""

import os

__version__ = "1.0.0"

# Set before numpy is imported: our matrices are small, and its threads cost more in waiting than they save. Processes
# share the cores instead; docs/models/network.md has the measurements.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
