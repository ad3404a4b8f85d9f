"""Writes what the image holds as CycloneDX: KDB, Python's and Debian's packages, and the scripts of its pages.

The Dockerfile runs it inside the image. The same packages give the same bytes.
"""

import json
import platform
import re
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kdb import __version__  # noqa: E402

VENDORED = re.compile(r"^\| \S+\.js \| ([\d.]+)[^|]* \| (\S+) [^|]*\| (\S+) \| [0-9a-f]{64} \|$", re.MULTILINE)


def component(purl: str, name: str, version: str, licence: str | None = None, kind: str = "library") -> dict[str, Any]:
    """licence : an expression of SPDX; None where the package does not give one"""
    licences = {"licenses": [{"expression": licence}]} if licence else {}
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl, **licences}


def python_package(distribution: Distribution) -> dict[str, Any]:
    name = re.sub(r"[-_.]+", "-", distribution.name).lower()
    purl = f"pkg:pypi/{name}@{distribution.version}"
    return component(purl, name, distribution.version, distribution.metadata.get("License-Expression"))


def debian_packages() -> list[dict[str, Any]]:
    form = "${db:Status-Status} ${Package} ${Version} ${Architecture}\n"
    printed = subprocess.run(["dpkg-query", "--show", "--showformat", form], check=True, capture_output=True, text=True)
    release = platform.freedesktop_os_release()["VERSION_ID"]
    packages = [line.split() for line in printed.stdout.splitlines()]
    return [
        component(f"pkg:deb/debian/{name}@{quote(version)}?arch={machine}&distro=debian-{release}", name, version)
        for status, name, version, machine in packages
        if status == "installed"
    ]


def vendored_scripts() -> list[dict[str, Any]]:
    """Return the scripts that are copied into static/vendor."""
    table = (ROOT / "static/vendor/VENDORED.md").read_text()
    return [
        component(f"pkg:npm/{name}@{version}", name, version, licence)
        for version, licence, name in VENDORED.findall(table)
    ]


def bill_of_materials() -> dict[str, Any]:
    """Return the software bill of materials of this environment, as CycloneDX 1.6."""
    components = [*map(python_package, distributions()), *vendored_scripts(), *debian_packages()]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": component(f"pkg:generic/kdb@{__version__}", "kdb", __version__, "BSD-3-Clause", "application")
        },
        "components": sorted(components, key=lambda one: one["bom-ref"]),
    }


if __name__ == "__main__":
    json.dump(bill_of_materials(), sys.stdout, indent=1)
