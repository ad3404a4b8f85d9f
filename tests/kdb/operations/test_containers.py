"""The image, and docker-compose.yml as containers, with PostgreSQL and Redis of Debian's packages."""

import json
import re
from collections.abc import Iterator

import pytest
import requests

from experiments.laboratory.images import debian
from kdb import __version__
from script import _services
from tests import made_once
from tests.kdb.operations import podman
from tests.soak import people

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]
ROOT = podman.ROOT
NAME = "kdb.example.org"
PASSWORD = "Vier Hosts, zwei Platten"
AS_PROXY = {"Host": NAME, "X-Forwarded-For": "203.0.113.5", "X-Forwarded-Proto": "https"}
MOST_MEGABYTES = 400
QUESTION = "rankings/fs-pair/?workload=varmail&hypervisor=kvm"

# What debian:bookworm-slim is made of; nothing that is installed into it is started.
_DEBIAN = r"""
set -eu
mmdebstrap --quiet --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --customize-hook='printf "#!/bin/sh\nexit 101\n" \
    >"$1/usr/sbin/policy-rc.d"; chmod 755 "$1/usr/sbin/policy-rc.d"' bookworm "$1/debian.tar" "$2"
"""
# The images of postgres and valkey, in what docker-compose.yml relies on: users, folders, variables and commands.
_POSTGRES = r"""
FROM localhost/debian
RUN useradd --system --uid 999 postgres && apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-15 \
    && install --directory --mode 700 --owner postgres /var/lib/postgresql/data && chmod 3777 /var/run/postgresql
COPY --chmod=755 entrypoint /
ENV LANG=C.UTF-8 PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["/entrypoint"]
CMD ["postgres", "-c", "listen_addresses=*"]
"""
_POSTGRES_ENTRYPOINT = r"""#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    printf %s "$POSTGRES_PASSWORD" |
        initdb --username "$POSTGRES_USER" --pwfile /dev/stdin --auth-local trust --auth-host scram-sha-256
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    pg_ctl --wait --options "-c listen_addresses=" start
    createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --wait stop
fi
exec "$@"
"""
_VALKEY = r"""
FROM localhost/debian
RUN useradd --system valkey && apt-get update && apt-get install --yes --no-install-recommends redis-server \
    && ln -s redis-server /usr/bin/valkey-server && ln -s redis-cli /usr/bin/valkey-cli \
    && install --directory --owner valkey /data
WORKDIR /data
"""
# The next version of KDB, which brings a table.
_NEXT = f"""
FROM localhost/kdb:{__version__}
COPY 9999_next.py kdb/migrations/
COPY __init__.py kdb/
"""
_MIGRATION = """
from django.db import migrations

class Migration(migrations.Migration):
    dependencies = [("kdb", "{last}")]
    operations = [migrations.RunSQL("CREATE TABLE kdb_next (id integer)")]
"""


@pytest.fixture
def engine(pytestconfig) -> Iterator[podman.Engine]:
    """Give an engine with the image of this checkout, and those of the database and the broker."""
    if why := podman.missing():
        pytest.skip(f"no containers here: {why}")
    base = made_once.made_by(pytestconfig.cache.mkdir("kdb"), "debian-slim", _DEBIAN, debian.MIRROR)
    with podman.engine() as engine:
        engine.run("import", str(base / "debian.tar"), "localhost/debian")
        engine.build(f"kdb:{__version__}", ROOT, "--build-arg=DEBIAN_IMAGE=localhost/debian", "--build-arg=REVISION=r1")
        build(engine, "postgres:15", _POSTGRES, entrypoint=_POSTGRES_ENTRYPOINT)
        build(engine, "valkey/valkey:8", _VALKEY)
        yield engine


def build(engine: podman.Engine, name: str, recipe: str, **files: str) -> None:
    context = engine.folder / re.sub(r"\W", "-", name)
    context.mkdir()
    for file, text in {"Dockerfile": recipe, **files}.items():
        (context / file).write_text(text)
    engine.build(f"localhost/{name}", context)


def is_there(engine: podman.Engine, *paths: str) -> list[str]:
    script = 'for path; do if [ -e "$path" ]; then echo "$path"; fi; done'
    image = f"kdb:{__version__}"
    return engine.run("run", "--rm", image, "sh", "-c", script, "sh", *paths).decode().split()


def check_image(engine: podman.Engine) -> None:
    about = engine.inspect(f"kdb:{__version__}")
    labels = {name.rpartition(".")[2]: value for name, value in about["Labels"].items() if ".opencontainers." in name}
    assert labels["version"] == __version__
    assert (labels["revision"], labels["licenses"]) == ("r1", "BSD-3-Clause")
    print(f"image: {about['Size'] / 1e6:.0f} MB")
    assert about["Size"] < MOST_MEGABYTES * 1e6
    assert about["User"] == "kdb"
    kept_out = ("tests", ".git", "docs/testing.md", ".env", "keys", "/usr/bin/gcc", "/venv/bin/pip", "/usr/bin/apt-get")
    assert is_there(engine, "manage.py", *kept_out) == ["manage.py"]
    bill = json.loads(engine.run("run", "--rm", f"kdb:{__version__}", "cat", "sbom.cdx.json"))
    kinds = {kind: {one["name"] for one in bill["components"] if f"pkg:{kind}/" in one["purl"]} for kind in KINDS}
    assert bill["metadata"]["component"]["version"] == __version__
    for kind, names in KINDS.items():
        assert names <= kinds[kind], kind
    assert not kinds["deb"] & {"apt", "gcc", "perl-base"}


KINDS = {"pypi": {"django", "scipy"}, "deb": {"openssh-client", "python3.11-minimal"}, "npm": {"htmx.org", "chart.js"}}


def check_limits(project: podman.Project, service: str) -> None:
    about = project.services[service]
    unit = {"m": 2**20, "g": 2**30}[about["mem_limit"][-1]]
    bytes_of_memory = int(about["mem_limit"][:-1]) * unit
    host = project.engine.inspect(project.container(service))["HostConfig"]
    assert (host["Memory"], host["NanoCpus"]) == (bytes_of_memory, int(about["cpus"] * 1e9))
    inside = project.exec(service, "sh", "-c", _INSIDE).decode().split()
    assert inside[:-1] == ["CapPrm:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", str(bytes_of_memory)], service
    assert inside[-1] != "0", service  # nobody is root


_INSIDE = r"""
grep -E '^(CapPrm|CapBnd|NoNewPrivs):' /proc/1/status
cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes
for place in / /etc /app /usr/bin; do if touch "$place/written" 2>/dev/null; then echo "$place"; fi; done
id -u
"""


def ways_out(project: podman.Project, service: str) -> int:
    """Return the number of a container's routes to everywhere."""
    routes = project.exec(service, "cat", "/proc/net/route").decode().splitlines()
    return sum(line.split()[1] == "00000000" for line in routes[1:])


def sign_in(address: str, user: str) -> str:
    """Return the account page, as a browser behind the proxy gets it; over HTTP it has to send the cookies by hand."""
    form = requests.get(f"{address}/accounts/login/", headers=AS_PROXY)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text)[1]
    fields = {"username": user, "password": PASSWORD, "csrfmiddlewaretoken": token}
    headers = AS_PROXY | {"Cookie": cookies(form), "Referer": f"https://{NAME}/accounts/login/"}
    entered = requests.post(f"{address}/accounts/login/", fields, headers=headers, allow_redirects=False)
    assert entered.status_code == 302, entered.text[:2000]
    return requests.get(f"{address}/accounts/", headers=AS_PROXY | {"Cookie": cookies(entered)}).text


def cookies(answer: requests.Response) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in answer.cookies)


def documented(start: str) -> tuple[str, str]:
    """Return the service and the script of sh that docs/deployment.md has after these words."""
    text = (ROOT / "docs/deployment.md").read_text()
    service, script = re.search(
        rf"^    docker compose {start} -T (\w+) sh -c '([^']+)' [<>]", text, re.MULTILINE
    ).groups()
    return service, script


def make_users(project: podman.Project, address: str) -> list[people.Client]:
    """Make the users and their tokens, as the documented commands do, all in one process."""
    script, scopes = "from django.core.management import call_command as call\n", ("read", "import", "review")
    for user, role in USERS.items():
        made = ("create_user", user, "--role", role, "--password-stdin")
        token = ("create_token", "test", "--user", user, *(word for scope in scopes for word in ("--scope", scope)))
        script += f"call(*{made!r})\ncall(*{token!r})\n"
    passwords = f"{PASSWORD}\n".encode() * len(USERS)
    printed = project.exec("web", "python", "manage.py", "shell", "--command", script, given=passwords).decode()
    tokens = re.findall(r"kdb_[\w-]+", printed)
    assert len(tokens) == len(USERS), printed
    return [people.Client(address, people.Ledger(), token, AS_PROXY) for token in tokens]


def test_the_containers_serve_are_bounded_and_survive_a_loss_and_an_upgrade(engine, tmp_path):
    check_image(engine)
    keys = engine.folder / "keys"
    keys.mkdir()
    (keys / "lab").write_text("a private key")
    port = _services.free_port()
    variables = {
        **{"SECRET_KEY": "".join(map(chr, range(48, 110))), "ALLOWED_HOSTS": NAME, "PORT": str(port)},
        **{"POSTGRES_PASSWORD": "p0stgres", "REDIS_PASSWORD": "v4lkey", "KEYS_DIR": str(keys), "PROCESSES": "1"},
    }
    project, address = podman.Project(engine, f"kdb-{port}", variables), f"http://127.0.0.1:{port}"
    project.up()
    lasting = [name for name in project.services if "healthcheck" in project.services[name]]
    for service in lasting:
        check_limits(project, service)
    assert {name for name in lasting if ways_out(project, name)} == {"web", "worker", "laboratory"}
    assert project.exec("laboratory", "cat", "/keys/lab") == b"a private key"
    assert engine.start("exec", project.container("web"), "ls", "/keys").returncode

    # Work by all of them: pages, questions, and files that the worker reads.
    author, reviewer = make_users(project, address)
    contributor = people.Contributor(author, reviewer, "box", people.random.Random(1))
    while not any(status == "published" for status in author.ledger.statuses.values()):
        contributor.work(iter((True, False)).__next__)
    assert not author.ledger.faults + author.ledger.lost
    studies = [slug for slug, status in author.ledger.statuses.items() if status == "published"]

    def check_knowledge() -> None:
        assert author.do("GET", QUESTION, 200, 202)
        for slug in studies:
            assert author.is_there(f"case-studies/{slug}/", status="published")
        assert "ada" in sign_in(address, "ada")

    check_knowledge()

    # One that takes more memory than it may is ended, and nothing else.
    eater = engine.start("exec", project.container("beat"), "python", "-c", "b'x' * (2 << 30)")
    assert eater.returncode == 137
    assert project.is_healthy("beat")

    # Lost and restored.
    service, script = documented("exec")
    archive = project.exec(service, "sh", "-c", script)
    project.down(volumes=True)
    service, script = documented("run --rm")
    project.run_once(service, "sh", "-c", script, given=archive)
    project.up()
    check_knowledge()

    # A new version.
    last = max(path.stem for path in (ROOT / "kdb/migrations").glob("0*.py"))
    own = (ROOT / "kdb/__init__.py").read_text().replace(__version__, "99.0.0")
    build(engine, "kdb:99.0.0", _NEXT, **{"9999_next.py": _MIGRATION.format(last=last), "__init__.py": own})
    for about in project.services.values():
        about["image"] = about["image"].replace(f"kdb:{__version__}", "kdb:99.0.0")
    project.up()
    project.exec("postgres", "psql", "--username=kdb", "--command=SELECT count(*) FROM kdb_next")
    assert "Version 99.0.0" in requests.get(f"{address}/", headers=AS_PROXY).text
    check_knowledge()


USERS = {"ada": "researchers", "rosa": "reviewers"}
