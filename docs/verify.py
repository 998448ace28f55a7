"""verify.py EXPORT.ndjson JWKS.json CHECKPOINT... : does the record hold? Needs Python 3.11 and cryptography."""
import sys
from base64 import b64decode, urlsafe_b64decode
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def canonical(value):  # RFC 8785, for bodies such as these
    return dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

def merkle_root(hashes):  # RFC 6962, bottom up: an odd node moves up as it is
    row = [sha256(b"\0" + bytes.fromhex(each)).digest() for each in hashes]
    while len(row) > 1:
        pairs = zip(row[::2], row[1::2])
        row = [sha256(b"\1" + left + right).digest() for left, right in pairs] + row[len(row) // 2 * 2 :]
    return row[0] if row else sha256(b"").digest()

def checkpoint(path, keys):  # a C2SP signed note: whose chain it is of, how long that is, and its root
    head, signatures = Path(path).read_text("utf-8").split("\n\n", 1)
    origin, size, root = head.split("\n")[:3]
    for _, name, text in (line.split(" ") for line in signatures.strip().split("\n")):
        for key in keys:
            if name == origin and b64decode(text)[:4] == sha256(name.encode() + b"\n\x01" + key).digest()[:4]:
                Ed25519PublicKey.from_public_bytes(key).verify(b64decode(text)[4:], f"{head}\n".encode())
                return origin, int(size), b64decode(root)
    raise InvalidSignature

keys = [urlsafe_b64decode(key["x"] + "==") for key in loads(Path(sys.argv[2]).read_bytes()).get("keys", ())]
try: kept = [checkpoint(path, keys) for path in sys.argv[3:]]
except (InvalidSignature, ValueError): sys.exit("FAIL: a checkpoint is none, or not signed by a published key")
chains, there, cited, citing = {}, set(), {None}, ("alertSha256", "policySha256", "bodySha256")
for number, raw in enumerate(open(sys.argv[1], "rb"), 1):
    line = loads(raw)
    if len(line) != 6 or canonical(line) + b"\n" != raw: sys.exit(f"FAIL: line {number} is not in canonical form")
    name, body, chain = line["chain"], canonical(line["body"]), chains.setdefault(line["chain"], [])
    if name is None: there.add(sha256(body).hexdigest()); continue  # a policy or an alert
    before = chain[-1] if chain else None
    chain.append(sha256((before or "").encode() + body).hexdigest())
    if (line["kind"] + "s", line["seq"], line["prevHash"], line["hash"]) != (name, len(chain) - 1, before, chain[-1]):
        sys.exit(f"FAIL: line {number}: {name} breaks at seq {line['seq']}")
    cited |= {part.get(key) for part in (line["body"], line["body"].get("change") or {}) for key in citing}
if there != cited - {None}: sys.exit("FAIL: policies or alerts are missing, altered or cited by no link")
if unsigned := chains.keys() - {None} - {origin.split("/")[-1] for origin, _, _ in kept}:
    sys.exit(f"FAIL: no checkpoint of {', '.join(unsigned)}, so that a cut end cannot be ruled out")
for origin, size, root in kept:
    links = chains.get(origin.split("/")[-1], [])
    if len(links) < size or merkle_root(links[:size]) != root: sys.exit(f"FAIL: {origin}: not what the checkpoint says")
    print(f"ok {origin}: {len(links)} links, the checkpoint is over {size}")
