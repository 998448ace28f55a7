"""An example of the export of a subject for the OpenAPI document: an entity of which little is known."""

from hashlib import sha256
from typing import Final

from clearhold.api.entities.examples import ENTITY
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.store.subjects.lines import END, FORMAT, MANIFEST, line_of
from clearhold.store.subjects.tables import ORDER

_MANIFEST: Final = line_of(
    MANIFEST,
    {
        "format": FORMAT,
        "subject": {"type": "entity", "id": ENTITY["id"], "accountIds": []},
        "tenantId": TENANT_ID,
        "tenant": "first-bank",
        "programId": PROGRAM_ID,
        "createdAt": "2026-03-02T16:00:00.000Z",
        "asOf": {"at": "2026-03-02T15:59:58.120Z", "shard": 3, "offset": "1858904402821120001"},
        "versions": {"features": ["features-v6"], "scores": ["trs-v1"], "policies": {"policy": "policy-v1"}},
        "tables": {"entities": ORDER["entities"]},
        "leftOut": {},
    },
)
_ROW: Final = line_of(
    "entities",
    {name: ENTITY[name] for name in ("id", "tenantId", "programId", "type", "name", "verificationStatus")},
)
_LINES: Final = b"%b\n%b\n" % (_MANIFEST, _ROW)
_END: Final = line_of(END, {"counts": {"entities": 1}, "lines": 2, "sha256": sha256(_LINES).hexdigest()})
SUBJECT_EXPORT: Final = (_LINES + _END).decode() + "\n"
