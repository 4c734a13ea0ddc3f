"""Runs the official Python client with commands from JSON lines on its input, and prints its events and results."""

import base64
import json
import sys
import threading

from azure.messaging.webpubsubclient import WebPubSubClient
from azure.messaging.webpubsubclient.models import CallbackType, SendMessageError

lock = threading.Lock()


def tell(**what):
    with lock:
        print(json.dumps(what), flush=True)


def readable(data):
    return base64.b64encode(data).decode() if isinstance(data, (bytes, bytearray, memoryview)) else data


def sendable(data, data_type):
    return memoryview(base64.b64decode(data)) if data_type == "binary" else data


# A fast ack may arrive before the client waits for it. Then only `ack_timeout` ends the wait, in s.
client = WebPubSubClient(sys.argv[1], ack_timeout=2, reconnect_retry_backoff_factor=0.2, message_retry_total=0)
client.subscribe(CallbackType.CONNECTED, lambda e: tell(event="connected", user=e.user_id))
client.subscribe(CallbackType.DISCONNECTED, lambda e: tell(event="disconnected"))
client.subscribe(
    CallbackType.GROUP_MESSAGE,
    lambda e: tell(event="message", group=e.group, type=e.data_type, data=readable(e.data)),
)
client.subscribe(
    CallbackType.SERVER_MESSAGE, lambda e: tell(event="message", group=None, type=e.data_type, data=readable(e.data))
)

calls = {
    "open": lambda: client.open(),
    "close": lambda: client.close(),
    "join": lambda group: client.join_group(group),
    "leave": lambda group: client.leave_group(group),
    "send": lambda group, data, data_type, **options: client.send_to_group(
        group, sendable(data, data_type), data_type, **options
    ),
    "event": lambda name, data, data_type: client.send_event(name, data, data_type),
}

for line in sys.stdin:
    name, arguments, options = json.loads(line)
    try:
        calls[name](*arguments, **options)
        tell(answer="done")
    except SendMessageError as error:
        tell(answer=error.error_detail.name if error.error_detail else str(error))
    except Exception as error:  # every other error is reported to the test
        tell(answer=f"{type(error).__name__}: {error}")
