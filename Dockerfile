# The service. TLS ends in front of it. Redis comes from docker-compose.yml, or embedded when CLEARHOLD_REDIS_URL is unset.
FROM python:3.12-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app

# The dependencies change rarely: a layer of their own.
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY features features
COPY store store
COPY flows flows
COPY api api
RUN pip install --no-deps --no-build-isolation -e . \
    && useradd --system --create-home clearhold \
    && install -d -m 0700 -o clearhold -g clearhold /var/lib/clearhold

USER clearhold
VOLUME /var/lib/clearhold
EXPOSE 8080

ENTRYPOINT ["clearhold"]
CMD ["serve", "--data", "/var/lib/clearhold", "--host", "0.0.0.0", "--port", "8080"]
