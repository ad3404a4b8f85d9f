# One image for the web server, the worker and beat; docker-compose.yml gives each its command.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=kdb.settings.production \
    DATA_DIR=/data

WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt
COPY . .
RUN useradd --system --uid 10001 --no-create-home kdb && install -d -o kdb -g kdb /data

USER kdb
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "check", "--deploy"]
