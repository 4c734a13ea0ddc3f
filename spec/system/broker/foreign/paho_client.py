"""Runs common operations of paho-mqtt and prints a line "ok ..." for each. The argument is the port of a broker."""
import queue
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

PORT = int(sys.argv[1])
PATIENCE = 20  # s


class Client:
    """A client that can wait for its events."""

    def __init__(self, name, version=mqtt.MQTTv5, clean=True, expiry=0, will=None):
        self.messages, self.connected, self.events = queue.Queue(), queue.Queue(), queue.Queue()
        options = {} if version == mqtt.MQTTv5 else {"clean_session": clean}
        self.mqtt = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, name, protocol=version, **options)
        self.mqtt.on_message = lambda _c, _u, message: self.messages.put(message)
        self.mqtt.on_connect = lambda _c, _u, flags, reason, _p: self.connected.put((flags.session_present, reason.value))
        self.mqtt.on_subscribe = lambda _c, _u, _m, reasons, _p: self.events.put([reason.value for reason in reasons])
        self.mqtt.on_unsubscribe = lambda _c, _u, _m, reasons, _p: self.events.put([reason.value for reason in reasons])
        if will is not None:
            self.mqtt.will_set(*will)
        if version == mqtt.MQTTv5:
            properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = expiry
            self.mqtt.connect("127.0.0.1", PORT, clean_start=clean, properties=properties)
        else:
            self.mqtt.connect("127.0.0.1", PORT)
        self.mqtt.loop_start()
        self.session_present, self.reason = self.connected.get(timeout=PATIENCE)

    def subscribe(self, *args, **kwargs):
        self.mqtt.subscribe(*args, **kwargs)
        return self.events.get(timeout=PATIENCE)

    def unsubscribe(self, topic):
        self.mqtt.unsubscribe(topic)
        return self.events.get(timeout=PATIENCE)

    def publish(self, topic, payload, qos=0, retain=False, properties=None):
        self.mqtt.publish(topic, payload, qos, retain, properties).wait_for_publish(PATIENCE)

    def next(self):
        return self.messages.get(timeout=PATIENCE)

    def close(self):
        self.mqtt.disconnect()
        self.mqtt.loop_stop()

    def cut(self):
        self.mqtt.loop_stop()
        self.mqtt.socket().close()


def check(what, actual, expected):
    print("ok" if actual == expected else "FAILED", what, "" if actual == expected else f"{actual!r} != {expected!r}", flush=True)


for version, name in ((mqtt.MQTTv5, "5"), (mqtt.MQTTv311, "3.1.1")):
    reader, writer = Client(f"reader{name}", version), Client(f"writer{name}", version)
    check(f"{name}: subscribe", reader.subscribe(f"p{name}/#", 2), [2])
    for qos in (0, 1, 2):
        writer.publish(f"p{name}/t", f"qos {qos}", qos)
        message = reader.next()
        check(f"{name}: QoS {qos}", (message.payload, message.qos, message.retain), (f"qos {qos}".encode(), qos, False))
    large = bytes(range(256)) * 4096
    writer.publish(f"p{name}/large", large, 1)
    check(f"{name}: 1 MiB", reader.next().payload == large, True)
    writer.publish(f"p{name}/kept", "retained", 1, True)
    reader.next()
    late = Client(f"late{name}", version)
    late.subscribe(f"p{name}/kept", 1)
    message = late.next()
    check(f"{name}: retained", (message.payload, message.retain), (b"retained", True))
    writer.publish(f"p{name}/kept", "", 1, True)
    reader.next()
    mortal = Client(f"mortal{name}", version, will=(f"p{name}/will", "last", 1))
    mortal.cut()
    check(f"{name}: will", reader.next().payload, b"last")
    sleeper = Client(f"sleeper{name}", version, clean=False, expiry=100)
    sleeper.subscribe(f"z{name}/#", 2)
    sleeper.close()
    for qos in (1, 2):
        writer.publish(f"z{name}/t{qos}", f"while away {qos}", qos)
    awake = Client(f"sleeper{name}", version, clean=False, expiry=100)
    check(f"{name}: kept session", awake.session_present, True)
    check(f"{name}: queued", sorted(awake.next().payload for _ in (1, 2)), [b"while away 1", b"while away 2"])
    for client in (reader, writer, late, awake):
        client.close()

reader, writer = Client("reader"), Client("writer")
subscription = Properties(PacketTypes.SUBSCRIBE)
subscription.SubscriptionIdentifier = 7
reader.subscribe("props", options=SubscribeOptions(qos=1), properties=subscription)
sent = Properties(PacketTypes.PUBLISH)
sent.UserProperty = [("a", "1"), ("a", "2")]
sent.ContentType, sent.ResponseTopic, sent.CorrelationData = "text/plain", "answers", b"\x00\x01"
sent.PayloadFormatIndicator, sent.MessageExpiryInterval = 1, 600
writer.publish("props", "x", 1, properties=sent)
came = reader.next().properties
check("5: user properties in order", came.UserProperty, [("a", "1"), ("a", "2")])
check("5: properties", (came.ContentType, came.ResponseTopic, came.CorrelationData, came.PayloadFormatIndicator), ("text/plain", "answers", b"\x00\x01", 1))
check("5: expiry", 590 <= came.MessageExpiryInterval <= 600, True)
check("5: subscription identifier", came.SubscriptionIdentifier, [7])
check("5: unsubscribe", (reader.unsubscribe("props"), reader.unsubscribe("props")), ([0], [17]))
writer.subscribe("own", options=SubscribeOptions(qos=1, noLocal=True))
writer.publish("own", "unheard", 1)
reader.publish("own", "heard", 1)
check("5: no local", writer.next().payload, b"heard")
workers = [Client("worker1"), Client("worker2")]
for worker in workers:
    worker.subscribe("$share/g/jobs", 1)
for job in range(10):
    writer.publish("jobs", str(job), 1)
for worker in workers:
    worker.subscribe("end", 1)
writer.publish("end", "end", 1)
done = [[] for _ in workers]
for index, worker in enumerate(workers):
    while (payload := worker.next().payload) != b"end":
        done[index].append(int(payload))
check("5: shared", sorted(done[0] + done[1]), list(range(10)))
check("5: shared by both", all(done), True)
for client in (reader, writer, *workers):
    client.close()
