"""verify.py EXPORT.ndjson JWKS.json CHECKPOINT... : verifies the record. Needs Python 3.11 and cryptography.
The export of one subject has its own checkpoints; a given checkpoint over the same number of links must agree."""
import sys
from base64 import b64decode, urlsafe_b64decode
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

CITING = ("alertSha256", "policySha256", "bodySha256")

def canonical(value):  # RFC 8785, for the bodies of links
    return dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

def merkle_root(hashes):  # RFC 6962, bottom up: an odd node moves up unchanged
    row = [sha256(b"\0" + bytes.fromhex(each)).digest() for each in hashes]
    while len(row) > 1:
        row = [sha256(b"\1" + one + two).digest() for one, two in zip(row[::2], row[1::2])] + row[len(row) // 2 * 2 :]
    return row[0] if row else sha256(b"").digest()

def path_root(leaf, at, size, path):  # RFC 6962, 2.1.1: the last hash of a path is that of the half without the leaf
    if size < 2 or not path: return leaf if size == 1 and not path else b""
    half = 1 << (size - 1).bit_length() - 1
    if at < half: return sha256(b"\1" + path_root(leaf, at, half, path[:-1]) + path[-1]).digest()
    return sha256(b"\1" + path[-1] + path_root(leaf, at - half, size - half, path[:-1])).digest()

def checkpoint(note, keys):  # a C2SP signed note: origin, number of links, root
    head, signatures = note.split("\n\n", 1)
    origin, size, root = head.split("\n")[:3]
    for _, name, text in (line.split(" ") for line in signatures.strip().split("\n")):
        for key in keys:
            if name == origin and b64decode(text)[:4] == sha256(name.encode() + b"\n\x01" + key).digest()[:4]:
                Ed25519PublicKey.from_public_bytes(key).verify(b64decode(text)[4:], f"{head}\n".encode())
                return origin, int(size), b64decode(root)
    raise InvalidSignature

def whole_record(lines, kept):  # all links of both chains, and the policies and alerts that they cite
    chains, there, cited = {}, set(), {None}
    for number, raw in enumerate(lines, 1):
        line = loads(raw)
        if len(line) != 6 or canonical(line) + b"\n" != raw: sys.exit(f"FAIL: line {number} is not in canonical form")
        name, body, chain = line["chain"], canonical(line["body"]), chains.setdefault(line["chain"], [])
        if name is None: there.add(sha256(body).hexdigest()); continue  # a policy or an alert
        before = chain[-1] if chain else None
        chain.append(sha256((before or "").encode() + body).hexdigest())
        if (line["kind"] + "s", line["seq"], line["prevHash"], line["hash"]) != (name, len(chain) - 1, before, chain[-1]):
            sys.exit(f"FAIL: line {number}: {name} breaks at seq {line['seq']}")
        cited |= {part.get(key) for part in (line["body"], line["body"].get("change") or {}) for key in CITING}
    if there != cited - {None}: sys.exit("FAIL: policies or alerts are missing, altered or cited by no link")
    if unsigned := chains.keys() - {None} - {origin.split("/")[-1] for origin, _, _ in kept}:
        sys.exit(f"FAIL: no checkpoint of {', '.join(unsigned)}, so that a cut end cannot be ruled out")
    for origin, size, root in kept:
        links = chains.get(origin.split("/")[-1], [])
        if len(links) < size or merkle_root(links[:size]) != root: sys.exit(f"FAIL: {origin}: differs from the checkpoint")
        print(f"ok {origin}: {len(links)} links, the checkpoint is over {size}")

SAME = {  # what never changes of a row; the link of the same id says it too, of actions in part under other names
    "dispositions": "id tenantId alertId decidedBy decision narrative narrativeModel recommendation policyVersion "
                    "overturnsDraft createdAt alertSha256 policySha256 actionId".split(),
    "actions": "id tenantId alertId type targetType targetId requestedBy createdAt".split(),
    "links of actions": "id tenantId alertId kind targetType targetId actor createdAt".split(),
    "alert_notes": "id tenantId programId alertId note writtenBy identity createdAt".split(),
    "links of alert_notes": "id tenantId programId alertId note actor identity createdAt".split(),
}

def one_subject(lines, keys, kept):  # a manifest, rows of tables, links with proofs to checkpoints, an end
    def need(holds, why):
        if not holds: sys.exit(f"FAIL: line {number}: {why}")
    digest, end, counts, notes, bodies, cited, fixed, linked = sha256(), None, {}, {}, set(), {None}, {}, {}
    status, last = {}, {}
    for number, raw in enumerate(lines, 1):
        line = loads(raw)
        table, row = line["table"], line["row"]
        need(raw.endswith(b"\n") and len(line) == 2 and end is None, "cut, or behind the end")
        need((table == "manifest") == (number == 1), "the manifest is the first line and no other")
        if table == "end": end = row; continue
        digest.update(raw)
        if table == "manifest": manifest = row; continue
        need(table in manifest["tables"], "of a table that the manifest does not name")
        counts[table] = counts.get(table, 0) + 1
        if table in ("alert_bodies", "policies"):
            need(sha256(canonical(row["body"])).hexdigest() == row["sha256"], "another digest than it says")
            bodies.add(row["sha256"])
        elif table == "alerts": cited.add(row["alertSha256"])
        elif table in ("dispositions", "actions", "alert_notes"):
            same = canonical([row[name] for name in SAME[table]])
            need(fixed.setdefault((table, row["id"]), same) == same, "contradicts an earlier version")
            if table == "actions": status[row["id"]] = row["status"]
        elif table == "record_checkpoints":
            origin, size, root = notes[row["chain"]] = checkpoint(row["note"], keys)
            need(origin.split("/")[-2:] == [manifest["tenant"], row["chain"]], "a checkpoint of another chain")
            need(all(root == other for name, n, other in kept if (name, n) == (origin, size)), "not what you kept says")
        elif table == "record_chain":
            chain, body, (_, size, root) = row["chain"], row["body"], notes[row["chain"]]
            link = sha256((row["prevHash"] or "").encode() + canonical(body))
            need((row["hash"], row["id"]) == (link.hexdigest(), body["id"]), "not the link that its hash says")
            path, leaf = [*map(b64decode, row["proof"])], sha256(b"\0" + link.digest()).digest()
            need(0 <= row["seq"] < size and path_root(leaf, row["seq"], size, path) == root, "not in the checkpoint")
            cited |= {part.get(key) for part in (body, body.get("change") or {}) for key in CITING}
            if body.get("kind") == "log_loss": continue
            of = "alert_notes" if body.get("kind") == "alert_note" else chain
            if of == "actions": last[body["actionId"]] = body["transition"]
            if of != "actions" or body["actionId"] == body["id"]:  # of the links of an action, that of its request
                linked[of, body["id"]] = canonical([body[name] for name in SAME.get(f"links of {of}", SAME[of])])
    if end is None: sys.exit("FAIL: the file is cut: it has no end")
    if (end["sha256"], {table: n for table, n in end["counts"].items() if n}) != (digest.hexdigest(), counts):
        sys.exit("FAIL: the lines differ from the counts or the digest in the last line")
    if fixed != linked: sys.exit("FAIL: decisions, actions or notes differ from their links")
    if not cited - {None} <= bodies: sys.exit("FAIL: cited policies or alerts are missing")
    if any((last.get(each), now) not in {(now, now), ("requested", "approved")} for each, now in status.items()):
        sys.exit("FAIL: an action's status differs from its last link")
    for name, n, _ in notes.values(): print(f"ok {name}: all links in the file are among the {n} of its checkpoint")
    print(f"ok {manifest['subject']['type']} {manifest['subject']['id']}: {sum(counts.values())} rows, none cut off")

keys = [urlsafe_b64decode(key["x"] + "==") for key in loads(Path(sys.argv[2]).read_bytes()).get("keys", ())]
try: kept = [checkpoint(Path(path).read_text("utf-8"), keys) for path in sys.argv[3:]]
except (InvalidSignature, ValueError): sys.exit("FAIL: a checkpoint has another form, or is not signed by a published key")
with open(sys.argv[1], "rb") as export:
    try:
        is_subject = b'"table":"manifest"' in export.readline()
        export.seek(0)
        one_subject(export, keys, kept) if is_subject else whole_record(export, kept)
    except (AttributeError, InvalidSignature, KeyError, RecursionError, TypeError, ValueError) as error:
        sys.exit(f"FAIL: a line has another form, or a checkpoint is not signed by a published key: {error!r}")
