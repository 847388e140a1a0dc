"""confluent-kafka as a producer that goes on until standard input ends.

    steady.py BOOTSTRAP TOPIC PARTITIONS NAME FILE

It sends NAME-0, NAME-1, … over the partitions in turn, idempotent and with
acks=all, and writes the number of each acknowledged record to FILE.
"""

import sys
import threading
import time

from confluent_kafka import Producer

bootstrap, topic, partitions, name, file = sys.argv[1:]
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()

failures = []
acknowledged = open(file, "w")
producer = Producer(
    {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 2,
        "message.timeout.ms": 300000,
        "reconnect.backoff.max.ms": 200,
        "retry.backoff.ms": 50,
    }
)


def delivered(error, number):
    if error is not None:
        failures.append(str(error))
    else:
        acknowledged.write(f"{number}\n")


number = 0
while not stop.is_set() and not failures:
    for _ in range(20):
        n = number
        producer.produce(
            topic,
            f"{name}-{n}",
            partition=n % int(partitions),
            on_delivery=lambda error, _, n=n: delivered(error, n),
        )
        number += 1
    producer.poll(0)
    time.sleep(0.004)
left = producer.flush(120)
acknowledged.close()
print("sent", number, "left", left, "failures", len(failures), failures[:2], flush=True)
sys.exit(1 if failures or left else 0)
