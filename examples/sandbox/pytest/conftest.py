import subprocess
import urllib.request
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def running_sandbox():
    command = ["plantstore", "sandbox", "--port", "0", "--admin-port", "0", "--exit-with-parent"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        # The first line is the base URL; the others are labels with their values.
        lines = [process.stdout.readline() for _ in range(8)]
        rows = dict(line.split(maxsplit=1) for line in lines[1:] if line)
        assert rows, "the sandbox did not start"
        plants_url, token, control_url = (rows[label].strip() for label in ("Interface", "Token", "Control"))
        yield SimpleNamespace(plantsUrl=plants_url, token=token, controlUrl=control_url)
        process.stdin.close()


@pytest.fixture
def sandbox(running_sandbox):
    """A sandbox without plants, with its addresses and its token."""
    urllib.request.urlopen(urllib.request.Request(f"{running_sandbox.controlUrl}/reset", method="POST"))
    return running_sandbox
