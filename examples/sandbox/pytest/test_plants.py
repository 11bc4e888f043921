import json
import threading
import time
import urllib.request


def create_plant(sandbox, plant):
    headers = {"Authorization": f"Bearer {sandbox.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(sandbox.collections["plants"], json.dumps(plant).encode(), headers)
    return urllib.request.urlopen(request).status


def read(sandbox, path):
    return json.load(urllib.request.urlopen(f"{sandbox.controlUrl}{path}"))


def test_the_id_of_a_plant_is_exact(sandbox):
    plant = {"id": 9007199254740993, "name": "Monstera deliciosa"}
    assert create_plant(sandbox, plant) == 200
    assert read(sandbox, "/plants")["resources"] == [plant]


def test_a_create_still_waits_when_its_test_ends(sandbox):
    rule = json.dumps({"outcome": {"delay": {"seconds": 0.2}}}).encode()
    urllib.request.urlopen(f"{sandbox.controlUrl}/rules", rule)

    def create():
        try:
            create_plant(sandbox, {"id": 2, "name": "Monstera deliciosa"})
        except OSError:
            pass  # The reset closes the connection.

    threading.Thread(target=create).start()
    while read(sandbox, "/rules")["rules"][0]["applied"] == 0:
        pass


def test_it_is_not_in_the_next_test_after_a_reset(sandbox):
    time.sleep(0.4)
    assert read(sandbox, "/plants")["resources"] == []
    assert read(sandbox, "/requests")["requests"] == []
