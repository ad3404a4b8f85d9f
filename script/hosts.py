"""Called by script/hosts: see tests/soak/hosts.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.soak.hosts import main

if __name__ == "__main__":
    sys.exit(main())
