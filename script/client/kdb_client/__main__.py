"""python -m kdb_client does what the command kdb does."""

import sys

from .command import main

sys.exit(main())
