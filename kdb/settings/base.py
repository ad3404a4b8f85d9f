"""Settings shared by every way of running; what differs is read from the environment here.

The names read: DATA_DIR, DATABASE_URL, REDIS_URL, JOB_LEASE_SECONDS, READ_SECONDS, KEPT_ANSWERS,
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
    "kdb.api.body_limits.body_limit_middleware",  # bodies are read after all of these, by CSRF's check or the view
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
    DATABASES["default"] |= {"OPTIONS": SQLITE_OPTIONS, "CONN_MAX_AGE": 60}  # opening it costs half of a kept answer
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    postgresql.open_with(DATABASES["default"], **postgresql.PLANNER)
# What a request may keep PostgreSQL busy for (kdb/wsgi.py); work in the background and commands take what they take.
KDB_STATEMENT_SECONDS = integer("STATEMENT_SECONDS", 30, lowest=1, highest=3600)
# In each process: the catalogue's names, and what is small. By themselves, so that they cannot push
# those out, what visitors have worked out for them: answers as of a revision, mixes, explanations, some 10 kB each, and
# all verdicts as of a revision, 1.2 MB.
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 1000}},
    "worked-out": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "worked-out",
        "OPTIONS": {"MAX_ENTRIES": 1000},
    },
    "rankings": {  # with their networks, of one workload each, some 100 kB: mixes differ in their weights alone
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "rankings",
        "OPTIONS": {"MAX_ENTRIES": 100},
    },
    "verdicts": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "verdicts",
        "OPTIONS": {"MAX_ENTRIES": 10},
    },
    "bodies": {  # whole answers as they are sent, at most some 400 kB each
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "bodies",
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
    "arms": {  # of the workloads asked about last, some 100 bytes an arm (modelling.evidence.dataframes)
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "arms",
        "OPTIONS": {"MAX_ENTRIES": 40},  # two a workload
    },
    "arms-in-files": {  # the same for all processes of this machine
        "BACKEND": "kdb.database.files_of_bytes.BytesInFiles",
        "LOCATION": DATA_DIR / "arms",
        "TIMEOUT": 24 * 3600,
        "OPTIONS": {"MAX_ENTRIES": 100},
    },
    "throttle": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "throttle"},
}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Workers ask the database for Job rows (kdb/jobs/worker.py); with Redis, it wakes Celery's (kdb/celery.py).
REDIS_URL = redis_url()
if REDIS_URL:  # requests are counted where all web processes see it
    CACHES["throttle"] = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    CACHES["throttle"]["OPTIONS"] = {"socket_connect_timeout": 1, "socket_timeout": 1}  # pages do not hang with it
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "visibility_timeout": 12 * 3600,  # never redeliver what still runs; a dead worker's job has its lease
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
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 256 * 1024  # KiB, of which 170 MiB are the program: Python keeps what it has had
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 60  # for a process of the pool to start, on a machine that has much to do
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")
CELERY_BEAT_SCHEDULER = "kdb.jobs.beat.Scheduler"
CELERY_BEAT_SYNC_EVERY = 1  # touch the file after each task: its age says whether beat lives
KDB_TICK_SECONDS = 15
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": "experiments.tick",
        "schedule": KDB_TICK_SECONDS,
        "kwargs": {"of_beat": True},
        "options": {"expires": 15},
    }
}

# What the processes of the web server count together (kdb/operations/metrics.py).
KDB_METRICS_DIR = DATA_DIR / "metrics"
# How often something was away, counted by all processes (kdb/operations/outages.py).
KDB_OUTAGES_DIR = DATA_DIR / "outages"

# Private keys of a worker for its laboratory's hosts, one file each, named in the hosts' records.
KDB_KEYS_DIR = Path(text("KEYS_DIR") or DATA_DIR / "keys").resolve()

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT: Path | None = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]

# One line an event, to stderr; whoever starts the process decides where it goes. LOG_FORM=json: an object a line.
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

# Signing in by OpenID Connect (kdb/oidc/__init__.py), where OIDC_ISSUER says by whom.
KDB_OIDC_ISSUER = text("OIDC_ISSUER")
KDB_OIDC_NAME = text("OIDC_NAME") or "your organisation"
KDB_OIDC_CREATES_USERS = (text("OIDC_CREATES_USERS") or "1") == "1"
KDB_OIDC_ROLES_CLAIM = text("OIDC_ROLES_CLAIM")  # none: roles are given here
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

# Who guesses passwords waits: kdb/accounts/login_limits.py has the limits.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
if KDB_OIDC_ISSUER:
    AUTHENTICATION_BACKENDS.append("kdb.oidc.OidcBackend")
AXES_HANDLER = "kdb.accounts.login_limits.LimitHandler"
AXES_FAILURE_LIMIT = 1  # by the handler's own count
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # who waits cannot be kept waiting by others
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # what a success forgets
AXES_CLIENT_IP_CALLABLE = "kdb.web.addresses.counted_address"
AXES_USERNAME_CALLABLE = "kdb.accounts.login_limits.counted_name"
AXES_LOCKOUT_CALLABLE = "kdb.accounts.login_limits.answer"
AXES_ENABLE_ADMIN = False  # its pages count in another way

# How many proxies of ours write X-Forwarded-For; with 0 nobody is believed.
KDB_TRUSTED_PROXIES = integer("TRUSTED_PROXIES", 0, lowest=0, highest=10)

# Password resets, which in development are printed, and notifications, which then are not offered by mail.
KDB_MAIL_IS_SENT = bool(text("EMAIL_URL"))
vars().update(env.email_url_config(text("EMAIL_URL") or "consolemail://"))
DEFAULT_FROM_EMAIL = text("EMAIL_FROM") or "kdb@localhost"
EMAIL_TIMEOUT = 10  # seconds
# Hosts inside, by the names that webhooks give, which may be sent to all the same, and without TLS.
KDB_WEBHOOK_PRIVATE_HOSTS = [host.strip().lower() for host in env.list("WEBHOOK_PRIVATE_HOSTS", default=[])]

# The largest body of a request: from strangers, and from who has an account.
KDB_ANONYMOUS_BODY_BYTES = integer("ANONYMOUS_BODY_MIB", 3, lowest=1, highest=1024) * 2**20
KDB_BODY_BYTES = integer("BODY_MIB", 256, lowest=1, highest=100_000) * 2**20
DATA_UPLOAD_MAX_NUMBER_FILES = 1000  # as many as one import takes (experiments.imports.pipeline)

# Everything comes from this server; the API's documentation page widens its own style-src.
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
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS would answer in a shape that the document does not have
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
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "kdb.api.schema.document_errors",
        "kdb.api.schema.spell_out_null",
        "kdb.api.schema.add_examples",
        "kdb.api.schema.link",
    ],
}

# Requests to the API a minute, by user or by address; 0 is without limit.
KDB_API_REQUESTS_A_MINUTE = integer("API_REQUESTS_A_MINUTE", 600, lowest=0, highest=1_000_000)
# Seconds of one processor a minute, by address, five times that by user; 0 is without limit.
KDB_CPU_SECONDS_A_MINUTE = integer("CPU_SECONDS_A_MINUTE", 12, lowest=0, highest=1_000_000)
# What the web server spends on one request of a stranger that only reads; what costs more is left to a worker. It is
# looked at between steps that take a tenth of a second at most, so that none costs more than 0.4. A question that was
# never asked takes 0.06 to 0.16 on a quiet machine, twice as long on one whose cores are all busy.
KDB_CPU_SECONDS_A_REQUEST = 0.3

# Whether a reviewer may publish what they had a part in; kdb.settings.local allows it, for one person alone.
KDB_AUTHORS_MAY_PUBLISH = env.bool("AUTHORS_MAY_PUBLISH", False)

# The spread assumed for a published mean whose source prints none: standard deviation of one run,
# as a share of its value. Shown on every page that uses it.
KDB_DEFAULT_COEFFICIENT_OF_VARIATION = 0.05
# With how many degrees of freedom it is believed: of a case study's own spread to be that, and of one arm's to be
# its case study's. Chosen by simulation over outside results (docs/models/ranking.md, section 3).
KDB_STUDY_SPREAD_FREEDOM = 4.0
KDB_ARM_SPREAD_FREEDOM = 4.0
# The length of a run that spreads so. The variance of a shorter one grows as its length falls (docs/models/ranking.md).
KDB_WHOLE_RUN_SECONDS = 30.0

# What slower means: the share of the best's value that a choice may lose.
KDB_MARGIN = 0.1
# What runs on a reader's machine must gain on average to be worth proposing: a share of the speed chosen without them.
KDB_LEAST_GAIN = 0.005
# A factor that laboratories never differ by: from it on one research group is enough to avoid an entry
# (docs/models/verdict.md, "Avoid").
KDB_LABORATORIES_DIFFER = 20.0

# How tier lists meet numbers. The scale is the ln ratio for which a list names the faster entry with
# odds of e to 1: tiers are coarse, so an entry 25 % faster stands above with odds of 2.4 to 1. The
# doubt is how many statements against it are added to each list.
KDB_TIER_SCALE = 0.25
KDB_TIER_DOUBT = 0.5

# What others published beyond the papers: load_evidence files it, and forecasts are judged by it too. None: neither.
KDB_OUTSIDE: Path | None = BASE_DIR / "fixtures" / "outside"
# Whether prepare publishes, as a revision of its own, case studies that this release has and the database lacks.
KDB_RELEASE_EVIDENCE = env.bool("RELEASE_EVIDENCE", True)
# Block statistics of known loads, from which detection learns from the start; load_evidence files them. None: none.
KDB_SIGNATURES: Path | None = BASE_DIR / "fixtures" / "signatures.csv"

# The most seconds that the files of one import may be read for.
KDB_READ_SECONDS = integer("READ_SECONDS", 600, lowest=10, highest=86_400)

# A running job whose worker was silent for this long goes back to the queue.
KDB_JOB_LEASE_SECONDS = integer("JOB_LEASE_SECONDS", 60, lowest=1, highest=3600)

# For how many days the sums of what observed disks do are kept: by minute, by hour, by day.
KDB_OBSERVATION_MINUTES_DAYS = integer("OBSERVATION_MINUTES_DAYS", 7, lowest=2, highest=366)
KDB_OBSERVATION_HOURS_DAYS = integer("OBSERVATION_HOURS_DAYS", 90, lowest=7, highest=3_660)
KDB_OBSERVATION_DAYS_DAYS = integer("OBSERVATION_DAYS_DAYS", 1_830, lowest=30, highest=36_600)

# Answers kept in the database; beyond that the least recently asked are forgotten and worked out anew when asked.
KDB_KEPT_ANSWERS = integer("KEPT_ANSWERS", 2_000, lowest=100, highest=20_000)
# Answers kept for good because a visitor saw or asked for their permanent address; some 5 KB each.
KDB_PINNED_ANSWERS = integer("PINNED_ANSWERS", 20_000, lowest=100, highest=10_000_000)
# From more arms than these an answer that was never given is left to a worker, for it may cost seconds.
KDB_MOST_ARMS_AT_ONCE = 5_000
