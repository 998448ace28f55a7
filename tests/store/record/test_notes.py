"""Checkpoints are C2SP signed notes: written as the specification says, and read with suspicion."""

import base64
from hashlib import sha256
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clearhold.store.record.signed_trees import Checkpoint, NoteError, opened_note, signed_note

KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
PUBLIC: Final = KEY.public_key().public_bytes_raw()
ORIGIN: Final = "risk.example.test/first-bank/dispositions"
CHECKPOINT: Final = Checkpoint(origin=ORIGIN, size=42, root=sha256(b"root").digest())
NOTE: Final = signed_note(CHECKPOINT, KEY)


def test_given_a_checkpoint_when_signed_then_the_note_has_the_lines_of_the_specification() -> None:
    body, signatures = NOTE.split("\n\n")
    dash, name, encoded = signatures.rstrip("\n").split(" ")
    raw = base64.b64decode(encoded)

    assert body == f"{ORIGIN}\n42\n{base64.b64encode(CHECKPOINT.root).decode()}"
    assert NOTE.endswith("\n")
    assert (dash, name) == ("\u2014", ORIGIN)
    assert raw[:4] == sha256(ORIGIN.encode() + b"\n\x01" + PUBLIC).digest()[:4]
    KEY.public_key().verify(raw[4:], f"{body}\n".encode())
    assert signed_note(CHECKPOINT, KEY) == NOTE


def test_given_a_note_when_opened_with_the_key_then_it_says_what_was_signed() -> None:
    cosigned = NOTE + "\u2014 witness.example AAAAAAAA\n"

    assert opened_note(NOTE, [PUBLIC]) == CHECKPOINT
    assert opened_note(NOTE, [OTHER.public_key().public_bytes_raw(), PUBLIC]) == CHECKPOINT
    assert opened_note(cosigned, [PUBLIC]) == CHECKPOINT
    assert CHECKPOINT.chain == "dispositions"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no checkpoint"),
        ("a\n\nb", "no checkpoint"),
        (NOTE.replace("\n42\n", "\n042\n"), "no checkpoint"),
        (NOTE.replace("\n42\n", "\n-1\n"), "no checkpoint"),
        (NOTE.replace("\n42\n", "\n٤٢\n"), "no checkpoint"),
        (NOTE.replace("\n42\n", "\n43\n"), "does not hold"),
        (NOTE.replace("first-bank", "third-bank"), "No signature"),
        (NOTE.replace("\n\n\u2014 risk", "\n\n\u2014 task"), "No signature"),
        (NOTE.replace("\u2014", "-"), "No signature"),
        (f"{ORIGIN}\n42\n{'A' * 8}\n\nx", "no root"),
        (f"{ORIGIN}\n42\n!!\n\nx", "base64"),
        (NOTE + "x" * 70_000, "no checkpoint"),
        (signed_note(CHECKPOINT, OTHER), "No signature"),
    ],
)
def test_given_a_text_that_proves_nothing_when_opened_then_it_says_why(text: str, sentence: str) -> None:
    with pytest.raises(NoteError, match=sentence):
        opened_note(text, [PUBLIC])


def test_given_extension_lines_when_opened_then_they_are_signed_too() -> None:
    body = f"{CHECKPOINT.text}more\n"
    key_id = sha256(ORIGIN.encode() + b"\n\x01" + PUBLIC).digest()[:4]
    note = f"{body}\n\u2014 {ORIGIN} {base64.b64encode(key_id + KEY.sign(body.encode())).decode()}\n"

    assert opened_note(note, [PUBLIC]) == CHECKPOINT
    with pytest.raises(NoteError):
        opened_note(note.replace("more", "less"), [PUBLIC])
