"""Pushes an agent card to an OCI registry as `oras push` does it: one layer with a title, an empty config."""

import hashlib
import json
import time
import urllib.error
import urllib.parse
import urllib.request

CARD = "application/vnd.a2a.agent-card.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def request(method, url, body=None, kind="application/octet-stream"):
    headers = {"Content-Type": kind} if body is not None else {}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(urllib.request.Request(url, body, headers, method=method), timeout=5)


def wait_for(registry, seconds=20):
    """A registry that starts at the same time is given a moment."""
    until = time.monotonic() + seconds
    while True:
        try:
            return request("GET", f"{registry}/v2/")
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def wait_until_gone(registry):
    """Whoever is in front of it answers still, with an error."""
    while True:
        try:
            request("GET", f"{registry.rstrip('/')}/v2/")
        except (urllib.error.URLError, ConnectionError):
            return
        time.sleep(0.05)


def push_blob(registry, name, body, kind):
    digest = "sha256:" + hashlib.sha256(body).hexdigest()
    begun = request("POST", f"{registry}/v2/{name}/blobs/uploads/", b"")
    place = urllib.parse.urljoin(registry, begun.headers["Location"])
    glue = "&" if "?" in place else "?"
    request("PUT", f"{place}{glue}digest={urllib.parse.quote(digest)}", body)
    return {"mediaType": kind, "digest": digest, "size": len(body)}


def push(registry, name, tag, card):
    """Makes `card` known as `name:tag`."""
    registry = registry.rstrip("/")
    wait_for(registry)
    file = f"{name.rsplit('/', 1)[-1]}_agent_card.json"
    layer = push_blob(registry, name, json.dumps(card).encode(), "application/json")
    layer["annotations"] = {"org.opencontainers.image.title": file}
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": CARD,
        "config": push_blob(registry, name, b"{}", EMPTY),
        "layers": [layer],
    }
    request("PUT", f"{registry}/v2/{name}/manifests/{tag}", json.dumps(manifest).encode(), MANIFEST)
