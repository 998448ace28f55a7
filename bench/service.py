"""``clearhold serve`` as a child process, with a tenant and programs to measure with."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import httpx
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from bench.log_feed import Feed, feed_of
from bench.stream_events import Traffic
from clearhold.client.answers import RefusedError
from clearhold.client.client import ClearholdClient
from clearhold.store.data_dir import DEFAULT_SHARDS

CHECKOUT: Final = Path(__file__).parent.parent
OPERATOR: Final = "bench"
_STOP_WITHIN_S: Final = 30
_ANSWER_WITHIN_S: Final = 60
_READY_WITHIN_LINES: Final = 1_000
_POLL_S: Final = 0.1
_NOT_FOUND: Final = 404
_TOO_MANY: Final = 429


class Known(NamedTuple):
    """A program as the service made it."""

    feed: Feed
    secret: str


class Service:
    """Started on entering, ended on leaving; it may be killed and started again in between."""

    def __init__(self, data_dir: Path, *, environment: Mapping[str, str] | None = None) -> None:
        self._data_dir = data_dir
        # Modules are compiled once, as in an installation or the image, also where no bytecode is to be left behind.
        bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(data_dir.parent / "bytecode")}
        self._environment = os.environ | bytecode | dict(environment or {})
        self.url = ""
        self.tenant_id = self.operator_token = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._log_path, self._log_from = data_dir.parent / "serve.log", 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()

    @property
    def socket(self) -> Path:
        return self._data_dir / "redis.sock"

    @property
    def snapshots_dir(self) -> Path:
        return self._data_dir / "checkpoints"

    @property
    def database_path(self) -> Path:
        return self._data_dir / "clearhold.duckdb"

    def processor_s(self) -> float:
        """Seconds of processor time that the process which takes requests and commits has used since it started."""
        return self.metric("process_cpu_seconds")["_total"]

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The lines of that event that the service and its scorers have logged since the last start."""
        with self._log_path.open("rb") as log:
            log.seek(self._log_from)
            lines = [line for line in log if line.startswith(b"{") and line.endswith(b"}\n")]
        return [line for line in map(msgspec.json.decode, lines) if line.get("event") == event]

    def metric(self, name: str) -> dict[str, float]:
        """The samples of a metric without labels, or with ``le`` alone, by the rest of their name and ``le``."""
        address = self.logged("metrics_on")[-1]["address"]
        text = httpx.get(address).raise_for_status().text
        families = [family for family in text_string_to_metric_families(text) if family.name == name]
        return {
            sample.name.removeprefix(name) + sample.labels.get("le", ""): sample.value
            for family in families
            for sample in family.samples
        }

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    @property
    def operator_headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.operator_token}", "X-Operator": OPERATOR}

    def client(self) -> httpx.Client:
        """Of the tenant's operator, until the service is started again."""
        headers, timeout = self.operator_headers, _ANSWER_WITHIN_S
        return httpx.Client(base_url=self.url, headers=headers, timeout=timeout, trust_env=False)

    def start(self, *, scorers: int | None = None) -> float:
        """Seconds until it is ready, with ``scorers`` scorers or its default number."""
        started = time.perf_counter()
        serve = [sys.executable, "-c", "from clearhold.api.cli.start import main; main()", "serve"]
        more = [] if scorers is None else ["--scorers", str(scorers)]
        with self._log_path.open("ab") as log:
            self._log_from = log.tell()
            self._process = subprocess.Popen(
                [*serve, "--data", str(self._data_dir), "--port", "0", "--metrics-port", "0", *more],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=CHECKOUT,
                env=self._environment,
                start_new_session=True,  # as under systemd: the kernel weighs it apart from the callers
            )
        assert self._process.stdout is not None
        for _ in range(_READY_WITHIN_LINES):
            line = self._process.stdout.readline().decode()
            if line.startswith("ready "):
                self.url = line.removeprefix("ready ").strip()
                return time.perf_counter() - started
            if not line:
                break
        raise SystemExit(f"The service ended before it was ready: {self._last_words()}")

    def stop(self) -> None:
        """As an operator stops it."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._close()

    def kill(self) -> None:
        """As a power cut stops it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def programs(self, traffics: Sequence[Traffic]) -> list[Known]:
        """A tenant, and a program for each of the traffics."""
        admin_token = (self._data_dir / "admin.token").read_text().strip()
        known = []
        with ClearholdClient(self.url, token=admin_token, operator=OPERATOR) as client:
            tenant = client.create_tenant(slug="bench", name="Bench")
            self.tenant_id, self.operator_token = tenant["id"], tenant["operatorToken"]
            for traffic in traffics:
                created = _within_rate(
                    partial(
                        client.create_program, {"tenantId": tenant["id"], "slug": traffic.name, "name": traffic.name}
                    )
                )
                known.append(Known(feed_of(created["id"], traffic, shards=DEFAULT_SHARDS), created["ingestSecret"]))
        return known

    def add_program(self, slug: str, **more: str) -> None:
        """A further program of the tenant, with more fields of its request."""
        admin_token = (self._data_dir / "admin.token").read_text().strip()
        with ClearholdClient(self.url, token=admin_token, operator=OPERATOR) as client:
            client.create_program({"tenantId": self.tenant_id, "slug": slug, "name": slug} | more)

    def wait_for(self, transfer_id: str, *, within_s: float) -> None:
        """Return when a transfer is recorded."""
        deadline = time.monotonic() + within_s
        with ClearholdClient(self.url, token=self.operator_token, operator=OPERATOR) as client:
            while not _is_recorded(client, transfer_id):
                if time.monotonic() > deadline:
                    raise SystemExit(f"{transfer_id} was not recorded within {within_s:.0f} s.")
                time.sleep(_POLL_S)

    def _close(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def _last_words(self) -> str:
        return self._log_path.read_text(errors="replace")[-2_000:]


def _within_rate(create: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Create one of many as soon as the rate of such requests allows it."""
    while True:
        try:
            return create()
        except RefusedError as refused:
            if refused.status != _TOO_MANY:
                raise
            time.sleep(_POLL_S)


def _is_recorded(client: ClearholdClient, transfer_id: str) -> bool:
    try:
        client.transfer(transfer_id)
    except RefusedError as refused:
        if refused.status == _NOT_FOUND:
            return False
        raise
    return True
