"""python -m tests.simulations COMMAND: run one of `tests.simulations.commands`."""

import os
import pkgutil
import sys
from importlib import import_module

import django

from tests.simulations import commands

NAMES = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in NAMES:
        sys.exit(f"usage: python -m tests.simulations COMMAND; there are {', '.join(NAMES)}")
    sys.path.append("script/client")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")
    django.setup()
    command = import_module(f"tests.simulations.commands.{sys.argv[1]}").Command()
    command.run_from_argv(["tests.simulations", *sys.argv[1:]])
