"""A group member by kafka-python."""

import sys
import threading

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

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


def commit(partitions):
    offsets = pending.of(partitions)
    if not offsets:
        return
    try:
        consumer.commit({TopicPartition(a.topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()})
        pending.done(offsets)
    except KafkaError as problem:
        if not problem.retriable and type(problem).__name__ != "RebalanceInProgressError":
            raise
        print("put off:", repr(problem), file=sys.stderr)


def numbers(partitions):
    return [p.partition for p in partitions]


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        say("assigned", numbers(assigned))

    def on_partitions_revoked(self, revoked):
        while pending.of(numbers(revoked)):
            commit(numbers(revoked))
        say("revoked", numbers(revoked))

    def on_partitions_lost(self, lost):
        pending.drop(numbers(lost))
        say("lost", numbers(lost))


def poll():
    for tp, records in consumer.poll(timeout_ms=100).items():
        handled(tp.partition, [r.offset for r in records])
        pending.offsets[tp.partition] = records[-1].offset + 1


def run():
    consumer.subscribe([a.topic], listener=Listener())
    while not stopping.is_set():
        poll()
        if pending.due():
            commit(list(pending.offsets))
    while pending.offsets:
        commit(list(pending.offsets))
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
