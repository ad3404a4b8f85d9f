# One image for the web server, the worker and beat; docker-compose.yml gives each its command.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=kdb.settings.production \
    DATA_DIR=/data

# ssh and scp reach the hosts of a laboratory.
RUN apt-get update && apt-get install --yes --no-install-recommends openssh-client && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt
COPY . .
RUN useradd --system --uid 10001 --no-create-home kdb && install -d -m 700 -o kdb -g kdb /data

USER kdb
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "check", "--deploy"]
