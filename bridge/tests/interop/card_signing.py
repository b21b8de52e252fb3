"""PyPI a2a-sdk verifies the card of the bridge, and signs one for the bridge's client.

Beside the bridge's address it gets a file, into which it puts a card that it has signed and the key.
"""

import base64
import json
import sys
from pathlib import Path
from urllib.request import Request, urlopen

from a2a.types import AgentCard
from a2a.utils.signing import (
    InvalidSignaturesError,
    create_agent_card_signer,
    create_signature_verifier,
)
from checks import LIMIT_SECONDS, run
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK

CARD = "/.well-known/agent-card.json"

SIGNED = {
    "name": "Signer",
    "description": "Signs é cards",
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "http://localhost/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {"streaming": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "s", "name": "S", "description": "Does", "tags": ["t"]}],
    "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
    "securityRequirements": [{"schemes": {"key": {"list": []}}}],
}


def fetch(url, version=None):
    headers = {"A2A-Version": version} if version else {}
    with urlopen(Request(url, headers=headers), timeout=LIMIT_SECONDS) as response:
        return json.load(response)


def key_of(kid, jku):
    return next(PyJWK(key) for key in fetch(jku)["keys"] if key["kid"] == kid)


def read(document):
    return ParseDict(document, AgentCard(), ignore_unknown_fields=True)


def sign():
    private = ec.generate_private_key(ec.SECP256R1())
    numbers = private.public_key().public_numbers()
    encoded = lambda number: base64.urlsafe_b64encode(number.to_bytes(32, "big")).rstrip(b"=").decode()
    key = {"kty": "EC", "crv": "P-256", "kid": "sdk-key", "x": encoded(numbers.x), "y": encoded(numbers.y)}
    header = {
        "alg": "ES256",
        "typ": "JOSE",
        "kid": "sdk-key",
        "jku": "https://agents.test/keys/jwks.json",
    }
    card = create_agent_card_signer(private, header)(read(SIGNED))
    return {"card": MessageToDict(card), "key": key}


async def main(checks):
    verify = create_signature_verifier(key_of, ["EdDSA", "ES256"])
    for version in ["1.0", None]:
        document = fetch(sys.argv[1] + CARD, version)
        checks.equal(f"the card of {version} is signed", None, verify(read(document)))
        document["name"] = "Another"
        try:
            verify(read(document))
            checks.equal("a changed card is refused", InvalidSignaturesError, None)
        except InvalidSignaturesError as error:
            checks.equal("a changed card is refused", InvalidSignaturesError, type(error))
    Path(sys.argv[2]).write_text(json.dumps(sign(), indent=2))


if __name__ == "__main__":
    run(main)
