"""Writes the client and the runner as one file that any Python from 3.11 on runs, and prints its SHA-256.

Called by script/client-zipapp. The same sources give the same bytes on every machine: nothing is compressed or dated.
"""

import argparse
import hashlib
import io
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "client/kdb_client"
MAIN = "import sys\n\nfrom kdb_client.command import main\n\nsys.exit(main())\n"


def zipapp() -> bytes:
    files = {f"kdb_client/{path.name}": path.read_text(encoding="utf-8") for path in sorted(PACKAGE.glob("*.py"))}
    content = io.BytesIO(b"#!/usr/bin/env python3\n")
    content.seek(0, io.SEEK_END)
    with zipfile.ZipFile(content, "a") as archive:
        for name, text in {**files, "__main__.py": MAIN}.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="script/client-zipapp", description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=Path)
    target = parser.parse_args().file
    target.write_bytes(content := zipapp())
    target.chmod(0o755)
    print(f"{hashlib.sha256(content).hexdigest()}  {target}")
