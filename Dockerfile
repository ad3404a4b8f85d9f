# One image for the web server, the worker and beat; docker-compose.yml gives each its command.
ARG PYTHON_IMAGE=python:3.11-slim
FROM ${PYTHON_IMAGE}

ENV PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=kdb.settings.production \
    DATA_DIR=/data

# ssh and scp reach the hosts of a laboratory.
RUN apt-get update && apt-get install --yes --no-install-recommends openssh-client && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.lock .
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock
COPY . .
RUN python -m compileall -q kdb experiments modelling
RUN useradd --system --uid 10001 --no-create-home kdb && install -d -m 700 -o kdb -g kdb /data

USER kdb
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "check", "--deploy"]
