"""A worker that consumes, transforms and produces exactly once, by
confluent-kafka, which is librdkafka: see exactlyonce/worker.go."""

import os
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from group_protocol import Arguments, at_the_end, failed, out

BATCH = 20
ABORT_EVERY = 6
PAUSE = 0.02  # seconds

a = Arguments()
output, partitions, transactional_id, timeout, fence = a.more
stopping = threading.Event()
# When the only broker is gone librdkafka 2.16.0 starts over with its bootstrap
# servers, and then waits for ever in send_offsets_to_transaction, for a broker
# that it has dropped; with Kafka as with Skein. So it does not start over here.
RECOVERY = {"metadata.recovery.strategy": "none"}
consumer = Consumer({
    **RECOVERY,
    "bootstrap.servers": a.bootstrap,
    "group.id": a.group,
    "client.id": a.client,
    "partition.assignment.strategy": ",".join(a.assignors),
    "session.timeout.ms": a.session,
    "heartbeat.interval.ms": a.heartbeat,
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "reconnect.backoff.max.ms": 200,
    "fetch.wait.max.ms": 100,
})
producer = Producer({
    **RECOVERY,
    "bootstrap.servers": a.bootstrap,
    "client.id": a.client,
    "transactional.id": transactional_id,
    "transaction.timeout.ms": int(timeout),
    "reconnect.backoff.max.ms": 200,
    "linger.ms": 0,
})

# What a consumer says while the broker is away.
PASSING = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._WAIT_COORD, KafkaError._TIMED_OUT, KafkaError._RESOLVE}


class Taken:
    """What is taken and not yet handled. A rebalance drops it: the metadata of
    the next generation must not go with what an earlier one has read."""

    def __init__(self):
        self.messages = []

    def drop(self, *_):
        self.messages.clear()


taken = Taken()
attempt = 0


def give_up(problem):
    print("gives up:", problem, file=sys.stderr)
    out("gaveup " + " ".join(str(problem).split()))
    os._exit(0)


def persist(call, *arguments):
    """Asks again for what librdkafka says may be asked for again."""
    while True:
        try:
            return call(*arguments)
        except KafkaException as problem:
            if not problem.args[0].retriable():
                raise
            print("again:", problem, file=sys.stderr)


def transact(messages):
    global attempt
    attempt += 1
    out(f"began {attempt} {len(messages)}")
    try:
        producer.begin_transaction()
        send(messages)
        if attempt % ABORT_EVERY == 0:
            abort(messages)
            return
        persist(producer.commit_transaction)
        out(f"committed {attempt}")
    except KafkaException as problem:
        print(f"transaction {attempt}:", problem, file=sys.stderr)
        if not problem.args[0].txn_requires_abort():
            give_up(problem)
        try:
            abort(messages)
        except KafkaException as again:
            give_up(again)


def send(messages):
    offsets = {}
    for m in messages:
        source, number = m.value().split()
        text = f"{m.value().decode()} {a.client} {attempt} {len(messages)}"
        producer.produce(output, text, partition=(int(source) + int(number)) % int(partitions))
        offsets[m.partition()] = m.offset() + 1
    producer.flush()
    time.sleep(PAUSE)
    positions = [TopicPartition(a.topic, p, o) for p, o in offsets.items()]
    persist(producer.send_offsets_to_transaction, positions, consumer.consumer_group_metadata())
    out(f"ending {attempt}")
    time.sleep(PAUSE)


def abort(messages):
    persist(producer.abort_transaction)
    out(f"aborted {attempt}")
    first = {}
    for m in messages:
        first.setdefault(m.partition(), m.offset())
    for p, offset in first.items():
        try:
            consumer.seek(TopicPartition(a.topic, p, offset))
        except KafkaException as problem:  # the partition is gone
            print("seeking:", problem, file=sys.stderr)


def take():
    """Waits for messages, and takes those that are there."""
    message = consumer.poll(0.1)
    while message is not None and len(taken.messages) < BATCH:
        if message.error() is None:
            taken.messages.append(message)
        elif message.error().code() not in PASSING:
            raise KafkaException(message.error())
        message = consumer.poll(0) if len(taken.messages) < BATCH else None
    messages = list(taken.messages)
    taken.drop()
    return messages


def run():
    persist(producer.init_transactions)
    consumer.subscribe([a.topic], on_revoke=taken.drop, on_lost=taken.drop)
    while not stopping.is_set():
        messages = take()
        if messages:
            transact(messages)
    consumer.close()


at_the_end(stopping.set)
try:
    run()
except Exception as problem:  # whatever went wrong must be told
    failed(problem)
    raise
