import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kdb.env import required
from kdb.jobs import health_check, processes
from kdb.operations import checks

ROOT = Path(__file__).resolve().parents[3]
PRODUCTION = {
    "PATH": os.environ["PATH"],
    "DJANGO_SETTINGS_MODULE": "kdb.settings.production",
    "SECRET_KEY": "".join(map(chr, range(40, 110))),
    "ALLOWED_HOSTS": "kdb.example.org,.example.com",
    "DATABASE_URL": "postgres://kdb@127.0.0.1/kdb",
}


def check_deploy(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=PRODUCTION | {"DATA_DIR": str(tmp_path)} | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_production_settings_pass_the_deployment_checks(tmp_path):
    run = check_deploy(tmp_path)

    assert (run.returncode, run.stderr.strip()) == (0, "")


@pytest.mark.parametrize("secret", ["$a-dollar-first", "$SECRET_KEY", r"a\$b", "#one"])
def test_a_secret_is_taken_as_it_stands(monkeypatch, secret):
    monkeypatch.setenv("SECRET_KEY", secret)

    assert required("SECRET_KEY") == secret


@pytest.mark.slow
def test_sqlite_in_production_is_warned_of(tmp_path):
    assert "kdb.W002" in check_deploy(tmp_path, DATABASE_URL="").stderr


def test_production_without_a_secret_ends_in_one_sentence(tmp_path):
    run = check_deploy(tmp_path, SECRET_KEY="")

    assert run.returncode == 1
    assert run.stderr.strip() == "KDB is not configured: SECRET_KEY must be set in the environment."


@pytest.mark.parametrize("share", [0, 1.0, 5, "0.05", -0.1])
def test_a_default_spread_that_is_no_share_is_an_error(settings, share):
    settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION = share

    assert [message.id for message in checks.check_default_spread(None)] == ["kdb.E001"]


def test_a_lease_shorter_than_a_tick_is_warned_of(settings):
    settings.KDB_JOB_LEASE_SECONDS = 10

    assert [message.id for message in checks.check_ticks_and_leases(None)] == ["kdb.W001"]


# docker-compose.yml


@pytest.fixture(scope="module")
def services() -> dict:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def test_the_containers_run_what_script_server_runs(services):
    python, several = ["python", "-m"], "${PROCESSES:-2}"
    with_several = [several if word == "2" else word for word in processes.WORKER]

    assert services["web"]["command"] == [*python, *processes.WEB, "--bind", "0.0.0.0:8000", "--workers", several]
    assert services["worker"]["command"] == [*python, *with_several]
    assert services["laboratory"]["command"] == [*python, *processes.LABORATORY]
    assert services["beat"]["command"] == [*python, *processes.BEAT]


def test_each_lasting_container_has_a_health_check(services):
    lasting = {name for name, service in services.items() if service.get("restart") != "no"}

    assert lasting == {"web", "worker", "laboratory", "beat", "postgres", "valkey"}
    assert all(services[name]["healthcheck"]["test"] for name in lasting)


def test_the_compose_file_holds_no_secret_and_no_default_for_one():
    text = (ROOT / "docker-compose.yml").read_text()

    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "ALLOWED_HOSTS"):
        assert f"${{{name}:?" in text
        assert f"${{{name}:-" not in text
        assert f"\n{name}=" in (ROOT / ".env.example").read_text()


def names_in(path: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (ROOT / path).read_text(), re.M))


DOCUMENTED = names_in(".env.example", r"^#?([A-Z_]+)=")
NOT_PASSED = {  # what containers have no use for, or get as part of an address
    *("PORT", "PROCESSES", "PYTHON", "DEBUG"),
    *("POSTGRES_PASSWORD", "REDIS_PASSWORD"),
    *("POSTGRES_IMAGE", "VALKEY_IMAGE"),
}
OWN = {
    "DJANGO_SETTINGS_MODULE",
    "DATA_DIR",
    "DATABASE_URL",
    "REDIS_URL",
    "KEYS_DIR",
    "ALIVE_FILE",
}  # compose sets them by itself


def test_every_variable_that_is_read_is_documented():
    read = r"(?:\benv\.\w+|\binteger|\btext|\brequired)\(\s*\"([A-Z_]+)\""
    variables = set().union(*(names_in(str(path.relative_to(ROOT)), read) for path in (ROOT / "kdb").rglob("*.py")))
    assert variables <= DOCUMENTED
    images = {"POSTGRES_IMAGE", "VALKEY_IMAGE"}
    of_compose = {"PROCESSES", "DJANGO_SETTINGS_MODULE", "POSTGRES_PASSWORD", "REDIS_PASSWORD"} | images
    assert DOCUMENTED - variables == {"PYTHON"} | of_compose


KDB = ("web", "worker", "laboratory", "beat", "prepare")
SECRETS = {  # and who needs them
    "OIDC_CLIENT_SECRET": {"web"},
    "EMAIL_URL": {"web", "worker"},
    "KEYS_DIR": {"laboratory"},
}


def test_the_containers_get_every_documented_variable(services):
    given = {name: services[name]["environment"] for name in KDB}
    assert set().union(*given.values()) - {"ALIVE_FILE"} == DOCUMENTED - NOT_PASSED
    for environment in given.values():
        for variable in environment.keys() - OWN:
            assert environment[variable].startswith(f"${{{variable}:"), variable
    assert names_in("docker-compose.yml", r"(?<!\$)\$\{(\w+)") <= DOCUMENTED


def test_a_secret_is_given_to_those_who_need_it(services):
    for secret, who in SECRETS.items():
        assert {name for name in services if secret in services[name].get("environment", {})} == who, secret


def test_each_container_has_no_rights_that_it_does_not_use(services):
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"cap_add", "privileged"} & service.keys(), name
        assert {"mem_limit", "cpus"} <= service.keys(), name
        assert name in KDB or service["user"] not in ("root", "0"), name  # KDB's image names its user


def test_database_and_broker_are_reached_by_kdb_alone(services):
    networks = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["networks"]
    assert networks["data"] == {"internal": True}
    assert services["postgres"]["networks"] == services["valkey"]["networks"] == ["data"]
    assert [name for name in services if "ports" in services[name]] == ["web"]
    ways_out = {name: set(services[name]["networks"]) - {"data"} for name in KDB}
    assert ways_out == {
        "web": {"front"},
        "worker": {"outgoing"},
        "laboratory": {"laboratory"},
        "beat": set(),
        "prepare": set(),
    }


def test_a_check_of_a_containers_health_starts_no_django(services):
    for name in ("web", "worker", "laboratory", "beat"):
        words = services[name]["healthcheck"]["test"]
        assert words[:-1] == ["CMD", "python", "-I", "-S", "kdb/jobs/health_check.py"], name
        assert words[-1] in health_check.CHECKS, name


def pinned(path: str) -> dict[str, str]:
    """Return each package's version as a list of requirements has it."""
    lines = (ROOT / path).read_text().splitlines()
    matches = (re.match(r"([A-Za-z0-9._-]+)(?:\[\w+\])?==([^\s;]+)", line) for line in lines)
    return {re.sub(r"[-_.]+", "-", line[1]).lower(): line[2] for line in matches if line}


def test_the_lock_has_a_digest_of_each_requirement_and_of_nothing_else():
    assert pinned("requirements.lock") == pinned("requirements.txt")
    for entry in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().strip()):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


@pytest.mark.slow
def test_a_variable_that_compose_passes_empty_is_one_that_is_not_set(tmp_path, services):
    optional = [name for name, value in services["web"]["environment"].items() if value.endswith(":-}")]
    run = check_deploy(tmp_path, **dict.fromkeys(optional, ""))
    assert (run.returncode, run.stderr.strip()) == (0, "")


def test_the_laboratory_has_its_keys_and_an_ssh_client(services):
    assert "${KEYS_DIR:-./keys}:/keys:ro" in services["laboratory"]["volumes"]
    assert services["laboratory"]["environment"]["KEYS_DIR"] == "/keys"
    assert not [
        volume for name in ("web", "worker", "beat") for volume in services[name]["volumes"] if "keys" in volume
    ]
    assert "openssh-client" in (ROOT / "Dockerfile").read_text()
