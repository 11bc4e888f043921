import json
import subprocess
import urllib.request
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def running_sandbox():
    command = ["plantstore", "sandbox", "--port", "0", "--admin-port", "0", "--exit-with-parent"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        # It prints its addresses; that of its control is in the row "Control".
        control_url = next(line.split()[1] for line in process.stdout if line.startswith("Control"))
        with urllib.request.urlopen(control_url) as response:
            state = json.load(response)
        collections = {each["name"]: each["url"] for each in state["collections"]}
        yield SimpleNamespace(controlUrl=control_url, token=state["token"], collections=collections)
        process.stdin.close()


@pytest.fixture
def sandbox(running_sandbox):
    """A sandbox without plants, with its addresses and its token."""
    urllib.request.urlopen(urllib.request.Request(f"{running_sandbox.controlUrl}/reset", method="POST"))
    return running_sandbox
