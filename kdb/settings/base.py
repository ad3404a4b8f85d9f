"""Settings of all environments; what differs between installations is read from environment variables here.

The variables: DATA_DIR, DATABASE_URL, REDIS_URL, JOB_LEASE_SECONDS, READ_SECONDS, KEPT_ANSWERS,
PINNED_ANSWERS, RELEASE_EVIDENCE, API_REQUESTS_A_MINUTE, CPU_SECONDS_A_MINUTE, KEYS_DIR, EMAIL_URL, EMAIL_FROM,
WEBHOOK_PRIVATE_HOSTS, OIDC_*, TRUSTED_PROXIES, ANONYMOUS_BODY_MIB, BODY_MIB, AUTHORS_MAY_PUBLISH, LOG_FORM,
LOG_LEVEL, STATEMENT_SECONDS, and in production.py SECRET_KEY, ALLOWED_HOSTS. See .env.example.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from kdb import __version__
from kdb.database import postgresql
from kdb.database.sqlite import SQLITE_OPTIONS
from kdb.env import database, env, integer, log_level, redis_url, required, text
from kdb.operations.log_lines import LINE
from kdb.units import METRICS

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(text("DATA_DIR") or BASE_DIR / "data").resolve()

INSTALLED_APPS = [
    "kdb",
    "kdb.notifications",
    "experiments",
    "modelling",
    "axes",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "kdb.operations.request_ids.request_id_middleware",
    "kdb.operations.metrics.metrics_middleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kdb.cost.middleware.CostMiddleware",
    "kdb.api.body_limits.body_limit_middleware",  # before any body is read, by CSRF's check or the view
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "kdb.urls"
WSGI_APPLICATION = "kdb.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["kdb.web.templates.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "experiments.case_studies.waiting.for_user",
                "kdb.accounts.views.ways_to_sign_in",
                "kdb.operations.upgrades.version",
            ],
        },
    }
]

DATABASES: dict[str, Any] = {"default": database(default=DATA_DIR / "kdb.sqlite3")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"] |= {
        "OPTIONS": SQLITE_OPTIONS,
        "CONN_MAX_AGE": 60,
    }  # opening a connection takes half the time of a cached answer
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    postgresql.open_with(DATABASES["default"], **postgresql.PLANNER)
# Time limit in s of a web request's statements on PostgreSQL (kdb/wsgi.py); jobs and commands have none.
KDB_STATEMENT_SECONDS = integer("STATEMENT_SECONDS", 30, lowest=1, highest=3600)
# Caches of each process. "default" has the catalogue's names and other small values. What is computed for visitors has
# caches of its own, so that it cannot evict those: answers as of a revision, mixes and explanations of some 10 kB each,
# and all verdicts as of a revision, 1.2 MB.
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 1000}},
    "worked-out": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "worked-out",
        "OPTIONS": {"MAX_ENTRIES": 1000},
    },
    "rankings": {  # of one workload each, with their networks, some 100 kB; mixes only weight them differently
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "rankings",
        "OPTIONS": {"MAX_ENTRIES": 100},
    },
    "verdicts": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "verdicts",
        "OPTIONS": {"MAX_ENTRIES": 10},
    },
    "bodies": {  # bodies of responses, at most some 400 kB each
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "bodies",
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
    "arms": {  # of recently asked workloads, some 100 bytes an arm (modelling.evidence.dataframes)
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "arms",
        "OPTIONS": {"MAX_ENTRIES": 40},  # two a workload
    },
    "arms-in-files": {  # the same, shared by all processes of this machine
        "BACKEND": "kdb.database.files_of_bytes.BytesInFiles",
        "LOCATION": DATA_DIR / "arms",
        "TIMEOUT": 24 * 3600,
        "OPTIONS": {"MAX_ENTRIES": 100},
    },
    "throttle": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "throttle"},
}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Workers poll the database for jobs (kdb/jobs/worker.py); with Redis, messages wake Celery's workers (kdb/celery.py).
REDIS_URL = redis_url()
if REDIS_URL:  # all web processes count requests together
    CACHES["throttle"] = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    CACHES["throttle"]["OPTIONS"] = {
        "socket_connect_timeout": 1,
        "socket_timeout": 1,
    }  # so that pages do not hang when Redis does
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "visibility_timeout": 12 * 3600,  # so that no running job is redelivered; the lease finds jobs of dead workers
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 2,
        "socket_timeout": 5,
        "socket_keepalive": True,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_DEFAULT_QUEUE = "kdb"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_MEMORY_PER_CHILD = (
    256 * 1024
)  # KiB, of which the program takes 170 MiB; Python does not return memory
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 60  # s, for a process of the pool to start on a busy machine
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")
CELERY_BEAT_SCHEDULER = "kdb.jobs.beat.Scheduler"
CELERY_BEAT_SYNC_EVERY = 1  # touch the file after each task, as its age tells whether beat is alive
KDB_TICK_SECONDS = 15
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": "experiments.tick",
        "schedule": KDB_TICK_SECONDS,
        "kwargs": {"of_beat": True},
        "options": {"expires": 15},
    }
}

# Counters that the web server's processes share (kdb/operations/metrics.py).
KDB_METRICS_DIR = DATA_DIR / "metrics"
# Counts of suppressed log lines of outages, shared by all processes (kdb/operations/outages.py).
KDB_OUTAGES_DIR = DATA_DIR / "outages"

# Private keys of a worker for its hosts, one file each; a host's row has the file's name.
KDB_KEYS_DIR = Path(text("KEYS_DIR") or DATA_DIR / "keys").resolve()

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT: Path | None = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]

# One line for each event, to stderr; with LOG_FORM=json it is a JSON object.
LOG_FORM = text("LOG_FORM") or "line"
if LOG_FORM not in ("line", "json"):
    raise ImproperlyConfigured(f"LOG_FORM must be line or json, not {LOG_FORM!r}.")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "kdb.operations.log_lines.AddRequestId"},
        "outages": {"()": "kdb.operations.outages.SumUpOutages"},
    },
    "formatters": {
        "line": {"format": LINE, "style": "{"},
        "json": {"()": "kdb.operations.log_lines.JsonFormatter"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORM, "filters": ["request_id", "outages"]}
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        **{name: {"level": log_level("INFO")} for name in ("kdb", "experiments", "modelling")},
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
    },
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
] + [{"NAME": "kdb.accounts.tokens.TokensEndWithPassword"}]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "account"
LOGOUT_REDIRECT_URL = "answer"

# Signing in by OpenID Connect (kdb/oidc/__init__.py), if OIDC_ISSUER is set.
KDB_OIDC_ISSUER = text("OIDC_ISSUER")
KDB_OIDC_NAME = text("OIDC_NAME") or "your organisation"
KDB_OIDC_CREATES_USERS = (text("OIDC_CREATES_USERS") or "1") == "1"
KDB_OIDC_ROLES_CLAIM = text("OIDC_ROLES_CLAIM")  # empty: roles are given by administrators of KDB
OIDC_RP_CLIENT_ID = required("OIDC_CLIENT_ID") if KDB_OIDC_ISSUER else ""
OIDC_RP_CLIENT_SECRET = required("OIDC_CLIENT_SECRET") if KDB_OIDC_ISSUER else ""
OIDC_OP_AUTHORIZATION_ENDPOINT = required("OIDC_AUTHORIZATION_ENDPOINT") if KDB_OIDC_ISSUER else ""
OIDC_OP_TOKEN_ENDPOINT = required("OIDC_TOKEN_ENDPOINT") if KDB_OIDC_ISSUER else ""
OIDC_OP_USER_ENDPOINT = required("OIDC_USERINFO_ENDPOINT") if KDB_OIDC_ISSUER else ""
OIDC_OP_JWKS_ENDPOINT = required("OIDC_JWKS_ENDPOINT") if KDB_OIDC_ISSUER else ""
OIDC_RP_SIGN_ALGO = "RS256"
OIDC_RP_SCOPES = "openid email profile"
OIDC_USE_PKCE = True
OIDC_TIMEOUT = 10  # seconds

# Limits of guessing passwords, which kdb/accounts/login_limits.py defines.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
if KDB_OIDC_ISSUER:
    AUTHENTICATION_BACKENDS.append("kdb.oidc.OidcBackend")
AXES_HANDLER = "kdb.accounts.login_limits.LimitHandler"
AXES_FAILURE_LIMIT = 1  # as LimitHandler counts 1 once a limit is reached
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # so that others cannot prolong a user's lockout
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # whose failures a successful sign-in resets
AXES_CLIENT_IP_CALLABLE = "kdb.web.addresses.counted_address"
AXES_USERNAME_CALLABLE = "kdb.accounts.login_limits.counted_name"
AXES_LOCKOUT_CALLABLE = "kdb.accounts.login_limits.answer"
AXES_ENABLE_ADMIN = False  # its pages do not use the counts of LimitHandler

# Number of own proxies that append to X-Forwarded-For; with 0 the header is ignored.
KDB_TRUSTED_PROXIES = integer("TRUSTED_PROXIES", 0, lowest=0, highest=10)

# Mail: password resets and notifications. Without EMAIL_URL, resets are printed, and notifications by mail not offered.
KDB_MAIL_IS_SENT = bool(text("EMAIL_URL"))
vars().update(env.email_url_config(text("EMAIL_URL") or "consolemail://"))
DEFAULT_FROM_EMAIL = text("EMAIL_FROM") or "kdb@localhost"
EMAIL_TIMEOUT = 10  # seconds
# Hosts of private networks to which webhooks may be sent, also without TLS.
KDB_WEBHOOK_PRIVATE_HOSTS = [host.strip().lower() for host in env.list("WEBHOOK_PRIVATE_HOSTS", default=[])]

# The largest body of an anonymous request, and of one with an account.
KDB_ANONYMOUS_BODY_BYTES = integer("ANONYMOUS_BODY_MIB", 3, lowest=1, highest=1024) * 2**20
KDB_BODY_BYTES = integer("BODY_MIB", 256, lowest=1, highest=100_000) * 2**20
DATA_UPLOAD_MAX_NUMBER_FILES = 1000  # the limit of one import (experiments.imports.pipeline)

# Everything is loaded from this server. Only the page of the API's documentation has another style-src.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [SELF],
        "frame-ancestors": [NONE],
    }
}
SECURE_REFERRER_POLICY = "same-origin"

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.NamespaceVersioning",
    "DEFAULT_VERSION": "v1",
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.DjangoModelPermissionsOrAnonReadOnly"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kdb.accounts.tokens.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_PARSER_CLASSES": ["kdb.api.formats.JsonParser"],
    "DEFAULT_METADATA_CLASS": None,  # answers to OPTIONS are not in the API's document
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "kdb.api.formats.FormatNegotiation",
    "DEFAULT_THROTTLE_CLASSES": ["kdb.api.throttle.RequestThrottle"],
    "EXCEPTION_HANDLER": "kdb.api.errors.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "KDB",
    "DESCRIPTION": "What is known about file-system performance under hypervisors.",
    "VERSION": __version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "TierEnum": "experiments.models.OrdinalFinding.Tier",
        "CaseStudyStatusEnum": "experiments.models.CaseStudy.Status",
        "RunnerOutcomeEnum": "experiments.models.AskedCommand.Outcome",
        "ClaimKindEnum": "experiments.models.Claim.Kind",
        "HereKindEnum": "modelling.estimation.verdict.KINDS",
        "HypervisorKindEnum": "experiments.models.Hypervisor.Kind",
        "SittingStateEnum": "modelling.models.Sitting.State",
        "StorageKindEnum": [("hdd", "hard disk"), ("ssd", "solid state"), ("nvme", "NVMe"), ("mixed", "mixed")],
        "MetricEnum": [(name, name) for name in METRICS],
        "AnswerStatusEnum": [
            (status, status) for status in ("ranked", "indistinguishable", "ranked apart", "no comparison")
        ],
        "AbilityEnum": "experiments.published_evidence.abilities.ABILITY_CHOICES",
        "AbilityFoundEnum": "experiments.published_evidence.abilities.FOUND_CHOICES",
        "ShareEnum": [("dominant", "dominant"), ("present", "present"), ("small", "small"), ("none", "none")],
        "StrengthEnum": "modelling.estimation.verdict.STRENGTHS",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "kdb.api.schema.document_errors",
        "kdb.api.schema.spell_out_null",
        "kdb.api.schema.add_examples",
        "kdb.api.schema.link",
    ],
}

# Requests to the API a minute, by user or address; 0 means no limit.
KDB_API_REQUESTS_A_MINUTE = integer("API_REQUESTS_A_MINUTE", 600, lowest=0, highest=1_000_000)
# Processor time in s a minute, by address; users have five times as much; 0 means no limit.
KDB_CPU_SECONDS_A_MINUTE = integer("CPU_SECONDS_A_MINUTE", 12, lowest=0, highest=1_000_000)
# Processor time in s of an anonymous GET request, after which it is left to a worker. It is checked between steps of
# at most 0.1 s, so that no request takes more than 0.4 s. A new question takes 0.06 to 0.16 s on an idle machine, and
# twice as long when all cores are busy.
KDB_CPU_SECONDS_A_REQUEST = 0.3

# Whether reviewers may publish case studies in which they are involved; kdb.settings.local allows it for single users.
KDB_AUTHORS_MAY_PUBLISH = env.bool("AUTHORS_MAY_PUBLISH", False)

# The spread assumed where the source of a mean states none: standard deviation of one run, as a share of the mean.
# Every page that uses it shows it.
KDB_DEFAULT_COEFFICIENT_OF_VARIATION = 0.05
# The degrees of freedom of the priors that a case study's spread is that default, and an arm's spread that of its case
# study. Chosen by simulation over outside results (docs/models/ranking.md, section 3).
KDB_STUDY_SPREAD_FREEDOM = 4.0
KDB_ARM_SPREAD_FREEDOM = 4.0
# The length in s of a run with this spread. The variance of shorter runs is larger (docs/models/ranking.md).
KDB_WHOLE_RUN_SECONDS = 30.0

# A choice is slower if it loses more than this share of the best one's value.
KDB_MARGIN = 0.1
# The least average gain for which runs on a reader's machine are proposed, as a share of the speed without them.
KDB_LEAST_GAIN = 0.005
# A factor by which laboratories never differ: with at least this one, the results of one research group suffice to
# avoid an entry (docs/models/verdict.md, "Avoid").
KDB_LABORATORIES_DIFFER = 20.0

# How tier lists are combined with numbers. The scale is the ln ratio at which a list names the faster entry with odds
# of e to 1: tiers are coarse, so an entry 25 % faster is in a higher tier with odds of 2.4 to 1. The doubt is the
# number of contrary statements that are added to each list.
KDB_TIER_SCALE = 0.25
KDB_TIER_DOUBT = 0.5

# Evidence of others than the papers, which load_evidence loads, and by which forecasts are judged. None: neither.
KDB_OUTSIDE: Path | None = BASE_DIR / "fixtures" / "outside"
# Whether prepare publishes, in a new revision, case studies of this release that the database lacks.
KDB_RELEASE_EVIDENCE = env.bool("RELEASE_EVIDENCE", True)
# Block statistics of known loads, with which detection is trained; load_evidence loads them. None: none.
KDB_SIGNATURES: Path | None = BASE_DIR / "fixtures" / "signatures.csv"

# Time limit in s for reading the files of one import.
KDB_READ_SECONDS = integer("READ_SECONDS", 600, lowest=10, highest=86_400)

# Time in s after which the job of a silent worker is queued again.
KDB_JOB_LEASE_SECONDS = integer("JOB_LEASE_SECONDS", 60, lowest=1, highest=3600)

# Days for which statistics of observed disks are kept: by minute, by hour, by day.
KDB_OBSERVATION_MINUTES_DAYS = integer("OBSERVATION_MINUTES_DAYS", 7, lowest=2, highest=366)
KDB_OBSERVATION_HOURS_DAYS = integer("OBSERVATION_HOURS_DAYS", 90, lowest=7, highest=3_660)
KDB_OBSERVATION_DAYS_DAYS = integer("OBSERVATION_DAYS_DAYS", 1_830, lowest=30, highest=36_600)

# The number of answers stored in the database; beyond it, those asked least recently are deleted.
KDB_KEPT_ANSWERS = integer("KEPT_ANSWERS", 2_000, lowest=100, highest=20_000)
# The number of answers that are kept for ever, as a visitor saw or asked for their permalink; some 5 kB each.
KDB_PINNED_ANSWERS = integer("PINNED_ANSWERS", 20_000, lowest=100, highest=10_000_000)
# A new answer from more arms than these is left to a worker, as it may take seconds.
KDB_MOST_ARMS_AT_ONCE = 5_000
