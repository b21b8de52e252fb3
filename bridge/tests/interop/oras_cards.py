"""Cards pushed and pulled by PyPI oras 0.2.43, the Python program of the oras project.

`push REFERENCE FILE` pushes a file of the current folder, `pull REFERENCE` writes into that folder.
"""

import sys

from oras.client import OrasClient


def main(what, reference, *files):
    client = OrasClient(insecure=True, tls_verify=False)
    if what == "push":
        client.push(target=reference, files=list(files))
    else:
        client.pull(target=reference, outdir=".")


main(*sys.argv[1:])
