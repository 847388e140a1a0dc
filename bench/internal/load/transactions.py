"""Runs transactions one after the other on each of some producers, as Transactions.java does, with librdkafka's client.

Arguments: address, topic, producers, records a transaction, bytes a record, and for how many milliseconds to run without and
then with counting. Prints how long all took and how long each commit took, in nanoseconds.
"""

import sys
import threading
import time

from confluent_kafka import Producer

PATIENCE = 30  # seconds


def start(address, name):
    producer = Producer({"bootstrap.servers": address, "transactional.id": name})
    producer.init_transactions(PATIENCE)
    return producer


def transact(producer, topic, records, value, until, took):
    while True:  # one at least: a machine that others have may begin late
        producer.begin_transaction()
        for _ in range(records):
            producer.produce(topic, value)
        if producer.flush(PATIENCE) > 0:
            raise RuntimeError("records were not acknowledged in time")
        ends = time.monotonic_ns()
        producer.commit_transaction(PATIENCE)
        took.append(time.monotonic_ns() - ends)
        if time.monotonic_ns() >= until:
            return


def run(producers, topic, records, value, millis):
    until = time.monotonic_ns() + millis * 1_000_000
    took, failed = [], []

    def one(producer):
        try:
            transact(producer, topic, records, value, until, took)
        except Exception as failure:  # a thread's end is nobody's otherwise
            failed.append(failure)

    threads = [threading.Thread(target=one, args=(p,)) for p in producers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]
    return took


def main():
    address, topic = sys.argv[1:3]
    producers, records, size, lead, length = map(int, sys.argv[3:])
    value = b"x" * size
    all_of_them = [start(address, f"{topic}-librdkafka-{i}") for i in range(producers)]
    run(all_of_them, topic, records, value, lead)
    began = time.monotonic_ns()
    took = run(all_of_them, topic, records, value, length)
    print("took", time.monotonic_ns() - began)
    print("commits", *took)


main()
