"""A group member by confluent-kafka, which is librdkafka."""

import sys
import threading

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from group_protocol import Arguments, Pending, at_the_end, committed, failed, handled, say

a = Arguments()
pending = Pending()
stopping = threading.Event()
settings = {
    "bootstrap.servers": a.bootstrap,
    "group.id": a.group,
    "client.id": a.client,
    "partition.assignment.strategy": ",".join(a.assignors),
    "session.timeout.ms": a.session,
    "heartbeat.interval.ms": a.heartbeat,
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "reconnect.backoff.max.ms": 200,
    "fetch.wait.max.ms": 100,
}
if a.instance:
    settings["group.instance.id"] = a.instance
consumer = Consumer(settings)

# Faults that pass: the broker starts again, or a rebalance is under way, during
# which a cooperative member goes on under a generation that may be over. Whom the broker has given up meanwhile,
# as after a start that took long, is told so by the library, and loses its partitions.
PASSING = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError._TRANSPORT, KafkaError._WAIT_COORD, KafkaError._TIMED_OUT, KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError._ALL_BROKERS_DOWN, KafkaError.REQUEST_TIMED_OUT,
}


def commit(partitions):
    offsets = pending.of(partitions)
    if not offsets:
        return
    try:
        for answer in consumer.commit(offsets=[TopicPartition(a.topic, p, o) for p, o in offsets.items()], asynchronous=False):
            if answer.error:
                raise KafkaException(answer.error)
        for p, o in offsets.items():
            committed(p, o)
        pending.done(offsets)
    except KafkaException as problem:
        if problem.args[0].code() not in PASSING:
            raise
        print("put off:", problem, file=sys.stderr)


def numbers(partitions):
    return [p.partition for p in partitions]


def revoked(_, partitions):
    for _ in range(50):
        commit(numbers(partitions))
    pending.drop(numbers(partitions))  # whoever gets them handles again what is not committed
    say("revoked", numbers(partitions))


def lost(_, partitions):
    pending.drop(numbers(partitions))
    say("lost", numbers(partitions))


def run():
    consumer.subscribe([a.topic], on_assign=lambda _, ps: say("assigned", numbers(ps)), on_revoke=revoked, on_lost=lost)
    while not stopping.is_set():
        batches = {}
        for message in consumer.consume(500, timeout=0.1):
            if message.error() is None:
                batches.setdefault(message.partition(), []).append(message.offset())
            elif message.error().code() not in PASSING:
                raise KafkaException(message.error())
        for p, offsets in batches.items():
            handled(p, offsets)
            pending.offsets[p] = offsets[-1] + 1
        if pending.due():
            commit(list(pending.offsets))
    consumer.close()


at_the_end(stopping.set)
try:
    run()
except Exception as problem:  # whatever went wrong must be told
    failed(problem)
    raise
