"""Signed push notifications, verified by PyPI PyJWT with what the bridge publishes.

The algorithm that is expected is the second argument.
"""

import hashlib
import sys
from uuid import uuid4

import httpx
import jwt
from checks import agent, run
from webhook import Webhook

KINDS = {"RS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}


async def ask(webhook):
    """Has a task pushed to the webhook, and gives its id."""
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    configuration = {"taskPushNotificationConfig": {"url": webhook.url}}
    params = {"message": message, "configuration": configuration}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    async with httpx.AsyncClient() as http:
        answer = await http.post(agent("sample"), json=body, headers={"A2A-Version": "1.0"})
    return answer.json()["result"]["task"]["id"]


def is_over(got):
    states = [body.get("statusUpdate", {}).get("status", {}).get("state") for _, body in got]
    return "TASK_STATE_COMPLETED" in states


async def main(checks):
    bridge, algorithm = sys.argv[1:]
    webhook = Webhook()
    task = await ask(webhook)
    got = await webhook.wait(is_over)
    keys = jwt.PyJWKClient(f"{bridge}/.well-known/jwks.json")
    published = {key["kid"]: key for key in keys.fetch_data()["keys"]}
    for (headers, _), raw in zip(got, webhook.raw):
        token = headers["x-a2a-notification-signature"]
        checks.equal("the bearer token is the signature", f"Bearer {token}", headers["authorization"])
        header = jwt.get_unverified_header(token)
        checks.equal("it says how it is signed", algorithm, header["alg"])
        key = published[header["kid"]]
        seen = (key["kty"], key["alg"], key["use"])
        checks.equal("the published key says so too", (KINDS[algorithm], algorithm, "sig"), seen)
        key = keys.get_signing_key_from_jwt(token).key
        decode = lambda audience: jwt.decode(
            token, key, algorithms=[algorithm], audience=audience, issuer=bridge, options={"require": ["exp", "jti"]}
        )
        claims = decode(webhook.url)
        checks.equal("it is about this task", task, claims["taskId"])
        checks.equal("it is about this body", hashlib.sha256(raw).hexdigest(), claims["request_body_sha256"])

        async def elsewhere():
            decode("https://another.example/hook")

        await checks.refused("it is for no other webhook", jwt.InvalidAudienceError, elsewhere())


run(main)
