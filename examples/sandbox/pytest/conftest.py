import json
import subprocess
import time
import urllib.request
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def running_sandbox(tmp_path_factory):
    ready_file = tmp_path_factory.mktemp("sandbox") / "ready.json"
    flags = ["--port", "0", "--admin-port", "0", "--ready-file", ready_file, "--exit-with-parent"]
    with subprocess.Popen(["plantstore", "sandbox", *flags], stdin=subprocess.PIPE) as process:
        while not ready_file.exists():
            assert process.poll() is None, "the sandbox did not start"
            time.sleep(0.01)
        yield SimpleNamespace(**json.loads(ready_file.read_text()))
        process.stdin.close()


@pytest.fixture
def sandbox(running_sandbox):
    """A sandbox without plants, with its addresses and its token."""
    urllib.request.urlopen(urllib.request.Request(f"{running_sandbox.controlUrl}/reset", method="POST"))
    return running_sandbox
