"""Prints as a JSON list what botocore would sign each of the requests with that are on standard input."""

import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def authorization(request):
    keys = request["credentials"]
    credentials = Credentials(keys["accessKeyId"], keys["secretAccessKey"], keys.get("sessionToken"))
    signer = SigV4Auth(credentials, request["service"], request["region"])
    headers = request["headers"]
    sent = AWSRequest(
        method=request["method"],
        url="http://" + headers["host"] + request["path"],
        data=request["body"].encode(),
        headers=headers,
    )
    sent.context["timestamp"] = headers["x-amz-date"]
    signature = signer.signature(signer.string_to_sign(sent, signer.canonical_request(sent)), sent)
    names = signer.signed_headers(signer.headers_to_sign(sent))
    return f"AWS4-HMAC-SHA256 Credential={signer.scope(sent)}, SignedHeaders={names}, Signature={signature}"


print(json.dumps([authorization(request) for request in json.load(sys.stdin)]))
