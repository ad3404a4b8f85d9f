"""What docker-compose.yml describes, by Debian's podman with runc, in a storage and on networks of its own.

Each key of a service becomes options of podman; one without a translation fails, so nothing of the file is passed over.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
PROGRAMS = ("podman", "runc", "catatonit", "mmdebstrap", "iptables")
HANG_SECONDS = 600
# Without CAP_SYS_RESOURCE no limit can be raised; crun refuses hybrid control groups.
CONFIGURATION = """
[containers]
default_ulimits = ["nproc=8192:8192", "nofile=4096:4096"]
[network]
network_backend = "netavark"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
helper_binaries_dir = ["/usr/lib/podman", "/usr/libexec/podman"]
"""


def missing() -> str:
    """Return why there can be no containers here; empty where there can."""
    if os.getuid():
        return "needs root"
    lacking = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    lacking += [name for name in ("netavark", "aardvark-dns") if not Path("/usr/lib/podman", name).exists()]
    return f"{', '.join(lacking)} not installed" if lacking else ""


class Engine:
    """podman, with a storage that ends with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "containers.conf").write_text(CONFIGURATION)
        (folder / "networks").mkdir()
        places = {"root": "storage", "runroot": "run", "tmpdir": "tmp", "network-config-dir": "networks"}
        self.command = ["podman", *(f"--{name}={folder / place}" for name, place in places.items())]
        self.environment = {
            **{"PATH": PATH, "HOME": str(folder), "CONTAINERS_CONF": str(folder / "containers.conf")},
            "DISABLE_HC_SYSTEMD": "true",  # whoever waits for a container runs its health check
        }

    def start(self, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [*self.command, *words]
        options |= {"cwd": self.folder, "env": self.environment}  # a file of conmon tells there of memory that ran out
        return subprocess.run(command, capture_output=True, timeout=HANG_SECONDS, **options)

    def run(self, *words: str, given: bytes | None = None) -> bytes:
        """Return what podman prints. given : on standard input"""
        done = self.start(*words, input=given)
        said = f"podman {shlex.join(words)}: {(done.stdout[-2000:] + done.stderr[-4000:]).decode(errors='replace')}"
        assert done.returncode == 0, said
        return done.stdout

    def inspect(self, name: str) -> Any:
        return json.loads(self.run("inspect", name))[0]

    def build(self, name: str, context: Path, *options: str) -> None:
        """Build an image with this machine's network, packages and pip."""
        mounts = (f"--volume={source}:{target}:ro" for source, target in pip_configuration(self.folder).items())
        self.run("build", "--isolation=chroot", "--network=host", *mounts, f"--tag={name}", *options, str(context))

    def end(self) -> None:
        self.start("rm", "--all", "--force", "--time=0")
        self.start("network", "prune", "--force")
        subprocess.run(["umount", "--lazy", self.folder / "storage/overlay"], capture_output=True)


@contextmanager
def engine() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="kdb-pod-") as name:  # sockets below it must have short names
        started = Engine(Path(name))
        try:
            yield started
        finally:
            started.end()


def pip_configuration(folder: Path) -> dict[Path, str]:
    """Return the files by which pip installs on this machine, and where a build has them.

    A build writes the file with the authorities that this machine trusts, so it has that under another name.
    """
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    values = {}
    for line in listed.stdout.splitlines():  # those of the environment come first
        name, _, value = line.partition("=")
        values.setdefault(name.rpartition(".")[2], ast.literal_eval(value))
    mounts = {}
    if authorities := values.get("cert"):
        values["cert"] = "/etc/pip-authorities.crt"
        mounts[Path(authorities)] = values["cert"]
    for word in " ".join(values.values()).split():
        # An index links files beside it.
        path = Path(word.removeprefix("file://")).parent if word.startswith("file://") else Path(word)
        if path.is_absolute() and path.exists() and path not in mounts:
            mounts[path] = str(path)
    configuration = folder / "pip.conf"
    configuration.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in values.items()))
    return {**mounts, configuration: "/etc/pip.conf"}


# Of docker-compose.yml


def seconds(text: str) -> int:
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def interpolated(value: Any, variables: dict[str, str]) -> Any:
    """Return a value of the file with what `.env` says, as compose reads it."""
    if isinstance(value, dict):
        return {name: interpolated(item, variables) for name, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, variables) for item in value]
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        given = variables.get(match[1], "")
        assert given or match[2] == "-", f"{match[1]} must be set: {match[3]}"
        return given or match[3]

    return re.sub(r"\$\$|\$\{(\w+):([-?])([^}]*)\}", replace, value)


def health_options(check: dict[str, Any]) -> list[str]:
    kind, *words = check["test"]  # podman 4 splits at blanks what it is given, and takes CMD and CMD-SHELL off
    assert kind == "CMD-SHELL" or not any(" " in word for word in words)
    return [
        f"--health-cmd={kind} {' '.join(words)}",
        *(f"--health-{name.replace('_', '-')}={check[name]}" for name in ("interval", "timeout", "start_period")),
        f"--health-retries={check['retries']}",
    ]


class Project:
    """The services of the file, as `docker compose` has them in one folder."""

    def __init__(self, engine: Engine, name: str, variables: dict[str, str]) -> None:
        self.engine, self.name = engine, name
        described = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
        self.services: dict[str, dict[str, Any]] = interpolated(described["services"], variables)
        for network, about in described["networks"].items():
            assert not (about or {}).keys() - {"internal"}
            options = ["--internal"] if about and about["internal"] else []
            engine.run("network", "create", *options, f"{name}_{network}")

    def container(self, service: str) -> str:
        return f"{self.name}_{service}"

    def options(self, service: str) -> list[str]:
        """Return podman's options for what the file says of a service."""
        translate: dict[str, Callable[[Any], list[str]]] = {
            **dict.fromkeys(("build", "image", "command", "depends_on"), lambda value: []),  # see run
            "restart": lambda value: [f"--restart={value}"],
            "read_only": lambda value: ["--read-only", "--read-only-tmpfs=false"] if value else [],
            "cap_drop": lambda value: [f"--cap-drop={item}" for item in value],
            "security_opt": lambda value: [f"--security-opt={item}" for item in value],
            "init": lambda value: ["--init"] if value else [],
            "user": lambda value: [f"--user={value}"],
            "tmpfs": lambda value: [f"--tmpfs={item}" for item in value],
            "volumes": lambda value: [f"--volume={self.volume(item)}" for item in value],
            "environment": lambda value: [f"--env={variable}={text}" for variable, text in value.items()],
            "networks": lambda value: [f"--network={self.name}_{item}:alias={service}" for item in value],
            "ports": lambda value: [f"--publish={item}" for item in value],
            "mem_limit": lambda value: [f"--memory={value}", f"--memory-swap={value}"],
            "shm_size": lambda value: [f"--shm-size={value}"],
            "cpus": lambda value: [f"--cpus={value}"],
            "stop_grace_period": lambda value: [f"--stop-timeout={seconds(value)}"],
            "healthcheck": health_options,
        }
        return [option for key, value in self.services[service].items() for option in translate[key](value)]

    def volume(self, text: str) -> str:
        return text if text.startswith("/") else f"{self.name}_{text}"

    def run(self, service: str, *options: str, command: list[str] | None = None, given: bytes | None = None) -> bytes:
        words = command or self.services[service].get("command", [])
        return self.engine.run(
            "run", *options, *self.options(service), self.services[service]["image"], *words, given=given
        )

    def up(self) -> None:
        """Do as `docker compose up --detach`: every service in a new container, after those it waits for are ready."""
        ready: set[str] = set()

        def start(service: str) -> None:
            conditions = {
                name: about["condition"] for name, about in self.services[service].get("depends_on", {}).items()
            }
            for name, condition in conditions.items():
                if name not in ready:
                    start(name)
                if condition == "service_healthy":
                    self.wait_until_healthy(name)
                else:
                    assert condition == "service_completed_successfully"
                    ended = self.engine.run("wait", self.container(name)).strip()
                    assert ended == b"0", self.log(name)
            ready.add(service)
            self.remove(service)
            self.run(service, "--detach", f"--name={self.container(service)}")

        for service in self.services:
            if service not in ready:
                start(service)
        for service, about in self.services.items():
            if "healthcheck" in about:
                self.wait_until_healthy(service)

    def run_once(self, service: str, *command: str, given: bytes | None = None) -> bytes:
        """Do as `docker compose run --rm -T`."""
        for name in self.services[service]["depends_on"]:
            if self.engine.start("container", "exists", self.container(name)).returncode:
                self.run(name, "--detach", f"--name={self.container(name)}")
            self.wait_until_healthy(name)
        return self.run(service, "--rm", "--interactive", command=list(command), given=given)

    def exec(self, service: str, *command: str, given: bytes | None = None) -> bytes:
        """Do as `docker compose exec -T`."""
        return self.engine.run("exec", "--interactive", self.container(service), *command, given=given)

    def is_healthy(self, service: str) -> bool:
        return self.engine.start("healthcheck", "run", self.container(service)).returncode == 0

    def wait_until_healthy(self, service: str) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while not self.is_healthy(service):
            assert time.monotonic() < deadline, f"{service} is not healthy: {self.log(service)}"
            time.sleep(1)

    def log(self, service: str) -> str:
        done = self.engine.start("logs", "--tail=50", self.container(service))
        return (done.stdout + done.stderr).decode(errors="replace")

    def remove(self, service: str) -> None:
        """Stop it as long as the file lets it take, and remove its container."""
        self.engine.start("stop", self.container(service))
        self.engine.run("rm", "--force", "--ignore", self.container(service))

    def down(self, *, volumes: bool = False) -> None:
        for service in reversed(self.services):
            self.remove(service)
        if volumes:
            self.engine.run("volume", "prune", "--force")
