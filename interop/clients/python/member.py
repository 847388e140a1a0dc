"""A member of a group by librdkafka, until standard input ends; then it leaves.

Arguments: bootstrap server, group, topic, client id, assignor.
"""

import sys
import threading

from confluent_kafka import Consumer


def main():
    bootstrap, group, topic, client, assignor = sys.argv[1:]
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client,
        "partition.assignment.strategy": assignor,
        "heartbeat.interval.ms": 300,
        "enable.auto.commit": False,
    })
    ended = threading.Event()

    def wait():
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    consumer.subscribe([topic])
    while not ended.is_set():
        consumer.poll(0.1)
    consumer.close()


if __name__ == "__main__":
    main()
