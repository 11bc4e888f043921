import json
import subprocess
import urllib.request
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def running_sandbox(tmp_path_factory):
    file = tmp_path_factory.mktemp("sandbox") / "ready.json"
    command = ["plantstore", "sandbox", "--port", "0", "--admin-port", "0", "--exit-with-parent"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "--ready-file", str(file)], stdin=pipe, stdout=pipe, text=True) as process:
        # It prints its base URL when the file is there.
        assert process.stdout.readline(), "the sandbox did not start"
        # With url, token and controlUrl, and collections: the URL of each by its name.
        yield SimpleNamespace(**json.loads(file.read_text()))
        process.stdin.close()


@pytest.fixture
def sandbox(running_sandbox):
    """A sandbox without plants, with its addresses and its token."""
    urllib.request.urlopen(urllib.request.Request(f"{running_sandbox.controlUrl}/reset", method="POST"))
    return running_sandbox
