import urllib.request

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    urllib.request.urlopen("http://127.0.0.1:8081/sandbox/reset", data=b"")
