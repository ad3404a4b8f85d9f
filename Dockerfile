# One image for the web server, the worker and beat; docker-compose.yml gives each its command.
ARG DEBIAN_IMAGE=debian:bookworm-slim

# Python's packages without their tests, translations, sources for compilers, symbols for debuggers, and a library that
# both numpy and scipy bring. Libraries that wheels bundle (NAME.libs) break when they are stripped.
FROM ${DEBIAN_IMAGE} AS packages
RUN apt-get update && apt-get install --yes --no-install-recommends binutils python3-venv
COPY requirements.lock .
RUN python3 -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-compile --require-hashes -r requirements.lock \
    && /venv/bin/pip uninstall --yes setuptools pip
RUN cd /venv/lib/python3*/site-packages \
    && find . -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -r {} + \
    && find . -path "*/locale/*" ! -path "*/en*" -name "django*.[mp]o" -delete \
    && find . \( -name "*.py[ix]" -o -name "*.px[di]" -o -name "*.h" \) -delete \
    && rm -r drf_spectacular_sidecar/static/drf_spectacular_sidecar/redoc \
    && find . -name "*.so" ! -path "*.libs/*" -exec strip --strip-unneeded {} + \
    && for library in numpy.libs/*; do \
        if cmp -s "$library" "scipy.libs/${library##*/}"; then ln -sf "../$library" scipy.libs/; fi; \
    done

# Debian with Python and ssh, which reaches the hosts of a laboratory, and without what installs packages or needs root.
FROM ${DEBIAN_IMAGE} AS system
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates openssh-client python3 \
    && useradd --system --uid 10001 --no-create-home kdb \
    && install --directory --mode 700 --owner kdb --group kdb /data \
    && dpkg --purge --force-depends --force-remove-essential --force-remove-protected \
        tzdata adduser debconf openssl apt debian-archive-keyring gpgv \
        libapt-pkg6.0 libgnutls30 libhogweed6 libidn2-0 libnettle8 libp11-kit0 libtasn1-6 libunistring2 \
        e2fsprogs libext2fs2 libss2 logsave login mount passwd util-linux util-linux-extra perl-base \
        libblkid1 libgcrypt20 libgpg-error0 libmount1 libsemanage2 libsepol2 libsmartcols1 libsystemd0 \
    && rm -rf /usr/lib/*/gconv /var/lib/apt /var/cache/* /var/log/* \
    && find / -xdev -perm /6000 -type f -exec chmod ug-s {} +
COPY --from=packages /venv /venv

# One layer of all this: what a layer removes from the one below it stays in the image.
FROM scratch
COPY --from=system / /
ENV PATH=/venv/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=kdb.settings.production \
    DATA_DIR=/data
WORKDIR /app
COPY . .
# Bytecode of what processes import, since they cannot write it: all of it would be 17 MB more.
RUN export DJANGO_SETTINGS_MODULE=kdb.settings.local DATA_DIR=/var/made \
    && python manage.py check \
    && python -m gunicorn kdb.wsgi --config python:kdb.gunicorn_settings --check-config \
    && rm -r /var/made \
    && python -m compileall -q -x "/(django|numpy|pandas|scipy)/" /app /venv \
    && python script/sbom.py >sbom.cdx.json

USER kdb
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "check", "--deploy"]

ARG VERSION=1.0.0
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="KDB" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.source="${SOURCE}" \
    org.opencontainers.image.licenses="BSD-3-Clause"
