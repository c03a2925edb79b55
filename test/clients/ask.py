"""Asks a URL with GET, and with POST while it uploads 1 MB, over HTTP/2. Prints a line of JSON for each.

httpx sends a whole body before it looks at the answer, and waits for ever when it is asked to stop: so this one is small.
"""

import json
import sys

import httpx

with httpx.Client(http2=True, verify=False) as client:
    for method, body in (("GET", None), ("POST", bytes(1_000_000))):
        said = {"method": method}
        try:
            response = client.request(method, sys.argv[1], content=body)
            said.update(version=response.http_version, status=response.status_code, body=response.text)
        except httpx.HTTPError as error:
            said["error"] = repr(error)
        print(json.dumps(said))
