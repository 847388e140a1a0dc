"""A group member by kafka-python."""

import sys
import threading

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaConnectionError, KafkaError, RebalanceInProgressError

from group_protocol import Arguments, Pending, at_the_end, failed, handled, say

a = Arguments()
pending = Pending()
stopping = threading.Event()
assignors = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
consumer = KafkaConsumer(
    bootstrap_servers=a.bootstrap,
    group_id=a.group,
    client_id=a.client,
    group_instance_id=a.instance,
    partition_assignment_strategy=[assignors[name] for name in a.assignors],
    session_timeout_ms=a.session,
    heartbeat_interval_ms=a.heartbeat,
    enable_auto_commit=False,
    auto_offset_reset="earliest",
    reconnect_backoff_max_ms=200,
)


def named(offsets):
    return {TopicPartition(a.topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()}


def put_off(problem):
    if not problem.retriable and not isinstance(problem, (KafkaConnectionError, RebalanceInProgressError)):
        raise problem
    print("put off:", repr(problem), file=sys.stderr)


def commit():
    offsets = dict(pending.offsets)
    try:
        consumer.commit(named(offsets))
        pending.done(offsets)
    except KafkaError as problem:
        put_off(problem)


def numbers(partitions):
    return [p.partition for p in partitions]


class Listener(AsyncConsumerRebalanceListener):
    """Its methods run where nothing may block."""

    async def on_partitions_assigned(self, assigned):
        say("assigned", numbers(assigned))

    async def on_partitions_revoked(self, revoked):
        for _ in range(50):
            offsets = pending.of(numbers(revoked))
            if not offsets:
                break
            try:
                await consumer.commit_async(named(offsets))
                pending.done(offsets)
            except KafkaError as problem:
                put_off(problem)
        pending.drop(numbers(revoked))  # whoever gets them handles again what is not committed
        say("revoked", numbers(revoked))

    async def on_partitions_lost(self, lost):
        pending.drop(numbers(lost))
        say("lost", numbers(lost))


def poll():
    # A poll that ends while the leader has its plan on the way forgets the answer
    # and never joins again: so polls wait longer than a round takes.
    try:
        batches = consumer.poll(timeout_ms=3000)
    except KafkaConnectionError as problem:
        put_off(problem)
        return
    for tp, records in batches.items():
        handled(tp.partition, [r.offset for r in records])
        pending.offsets[tp.partition] = records[-1].offset + 1


def run():
    consumer.subscribe([a.topic], listener=Listener())
    while not stopping.is_set():
        poll()
        if pending.due():
            commit()
    while pending.offsets:
        commit()
        if pending.offsets:
            poll()
    say("revoked", numbers(consumer.assignment()))
    consumer.close()


at_the_end(stopping.set)
try:
    run()
except Exception as problem:  # whatever went wrong must be told
    failed(problem)
    raise
