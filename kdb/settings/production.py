"""Settings for production: behind a TLS proxy that sets X-Forwarded-Proto, with PostgreSQL and Redis."""

from kdb.env import integer, required

from .base import *  # noqa: F403

SECRET_KEY = required("SECRET_KEY")
DEBUG = False
ALLOWED_HOSTS = [host.strip() for host in required("ALLOWED_HOSTS").split(",") if host.strip()]
# ".example.org" in ALLOWED_HOSTS means the domain and its subdomains, which are listed separately here.
CSRF_TRUSTED_ORIGINS = [
    f"https://{origin}"
    for host in ALLOWED_HOSTS
    for origin in ((host[1:], f"*{host}") if host.startswith(".") else (host,))
]

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]  # requested inside the container, without the proxy
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
KDB_TRUSTED_PROXIES = integer("TRUSTED_PROXIES", 1, lowest=0, highest=10)
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "kdb.web.static_files.StaticFiles"},
}
