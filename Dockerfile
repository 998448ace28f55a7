# The service. TLS ends in front of it. Redis comes from docker-compose.yml, or embedded when CLEARHOLD_REDIS_URL is unset.
FROM python:3.12-slim

LABEL org.opencontainers.image.title="clearhold" \
      org.opencontainers.image.description="A money-movement risk engine: scores, alerts and a verifiable record" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app

# The dependencies change rarely: a layer of their own. Those of development are in requirements.lock.
COPY requirements.runtime.lock ./
RUN pip install --require-hashes -r requirements.runtime.lock

COPY pyproject.toml README.md LICENSE ./
COPY clearhold clearhold
COPY features features
COPY store store
COPY flows flows
COPY api api
COPY calibrate calibrate
COPY client client
COPY demo demo
# Compiled here, because the user who runs it writes nowhere but in the volume.
RUN pip install --no-deps --no-build-isolation -e . \
    && python -m compileall -q features store flows api calibrate client demo \
    && groupadd --gid 10001 clearhold \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/clearhold --no-create-home clearhold \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/clearhold

# By number, so that Kubernetes' runAsNonRoot can see that it is not root.
USER 10001:10001
VOLUME /var/lib/clearhold
EXPOSE 8080 9464

HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=5 \
    CMD ["python", "-ISc", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=2); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]

ENTRYPOINT ["clearhold"]
CMD ["serve", "--data", "/var/lib/clearhold", "--host", "0.0.0.0", "--port", "8080"]
