"""The demo's directory, tenant and programs, set up before money moves.

``DIR/data`` is the service's data directory, ``DIR/service.log`` its output. ``DIR/demo.json`` (mode 0600) keeps the
tokens and secrets, which are shown once, for a later run. ``DIR/planted.json`` names the transfers of each story,
``DIR/results.json`` has the results.
"""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

import msgspec

from clearhold.client.answers import RefusedError
from clearhold.client.client import ClearholdClient
from clearhold.demo.parties import Program
from clearhold.demo.service import DemoError

TENANT_SLUG: Final = "demo-bank"
OPERATOR: Final = "demo@bank.example"
AGENTS: Final = "agents"
OURS: Final = frozenset({"data", "demo.json", "planted.json", "results.json", "service.log"})


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A program's id and the secret its events are signed with."""

    program_id: str
    secret: str


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``demo.json``. ``runs`` counts the demos on this data."""

    seed: int
    operator_token: str
    programs: dict[str, Access]
    runs: int = 0


class StageDir:
    """The demo's directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self.log = path / "service.log"
        self.planted = path / "planted.json"
        self.results = path / "results.json"
        self._kept = path / "demo.json"

    def prepare(self, *, keep: bool) -> Stage | None:
        """Make the directory, and empty it unless ``keep``. Returns the earlier demo's data if it is kept."""
        if self.path.exists() and not self.path.is_dir():
            raise DemoError(f"{self.path} is not a directory.")
        self.path.mkdir(parents=True, exist_ok=True)
        self._require_idle()
        if keep and self._kept.exists():
            return msgspec.json.decode(self._kept.read_bytes(), type=Stage)
        strangers = sorted(entry.name for entry in self.path.iterdir() if entry.name not in OURS)
        if strangers:
            raise DemoError(f"{self.path} holds {strangers[0]}, which no demo left there; name another directory.")
        shutil.rmtree(self.data, ignore_errors=True)
        self._kept.unlink(missing_ok=True)
        for file in (self.planted, self.results):
            file.unlink(missing_ok=True)
        return None

    def remember(self, stage: Stage) -> None:
        fresh = self._kept.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(stage))
        fresh.replace(self._kept)

    def admin_token(self) -> str:
        from_environment = os.environ.get("CLEARHOLD_ADMIN_TOKEN")
        return from_environment or (self.data / "admin.token").read_text().strip()

    def _require_idle(self) -> None:
        lock = self.data / "lock"
        if not lock.exists():
            return
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise DemoError(
                    f"A service is running on {self.data}; stop it first, or name another --data."
                ) from error


def set_up(client: ClearholdClient, cast: dict[str, Program], *, seed: int, bank_key: str) -> Stage:
    """Create the tenant, with its key to the bank's API, and the programs, that of the agents among them, with a
    platform admin's client.
    """
    try:
        tenant = client.create_tenant(slug=TENANT_SLUG, name="Demo Bank")
        client.set_bank_key(tenant["id"], bank_key)
        programs = {}
        for program in cast.values():
            created = client.create_program(
                {
                    "tenantId": tenant["id"],
                    "slug": program.slug,
                    "name": program.name,
                    "source": "bank",
                    "declaredMonthlyVolumeCents": str(program.monthly_cents),
                    "declaredRails": list(program.rails),
                    "declaredCountries": list(program.countries),
                }
            )
            programs[program.slug] = Access(program_id=created["id"], secret=created["ingestSecret"])
        client.create_program({"tenantId": tenant["id"], "slug": AGENTS, "name": "On-chain agents", "source": "bank"})
    except RefusedError as error:
        raise DemoError(f"The service refused to set the demo up: {error}") from error
    return Stage(seed=seed, operator_token=tenant["operatorToken"], programs=programs)
