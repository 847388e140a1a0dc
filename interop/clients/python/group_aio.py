"""A group member by aiokafka."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from group_protocol import Arguments, Pending, at_the_end, failed, handled, say

a = Arguments()
pending = Pending()
assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "sticky": StickyPartitionAssignor}


async def commit(consumer, partitions):
    offsets = pending.of(partitions)
    if not offsets:
        return
    try:
        await consumer.commit({TopicPartition(a.topic, p): o for p, o in offsets.items()})
        pending.done(offsets)
    except KafkaError as problem:
        if not problem.retriable:
            raise
        print("put off:", repr(problem), file=sys.stderr)


def numbers(partitions):
    return [p.partition for p in partitions]


class Listener(ConsumerRebalanceListener):
    def __init__(self, consumer):
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked):
        while pending.of(numbers(revoked)):
            await commit(self.consumer, numbers(revoked))
        say("revoked", numbers(revoked))

    async def on_partitions_assigned(self, assigned):
        say("assigned", numbers(assigned))


async def run():
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    at_the_end(lambda: loop.call_soon_threadsafe(stopping.set))
    consumer = AIOKafkaConsumer(
        bootstrap_servers=a.bootstrap,
        group_id=a.group,
        client_id=a.client,
        group_instance_id=a.instance,
        partition_assignment_strategy=[assignors[name] for name in a.assignors],
        session_timeout_ms=a.session,
        heartbeat_interval_ms=a.heartbeat,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
    )
    await consumer.start()
    consumer.subscribe([a.topic], listener=Listener(consumer))
    while not stopping.is_set():
        # Nothing is awaited between the records and their event.
        for tp, records in (await consumer.getmany(timeout_ms=100)).items():
            handled(tp.partition, [r.offset for r in records])
            pending.offsets[tp.partition] = records[-1].offset + 1
        if pending.due():
            await commit(consumer, list(pending.offsets))
    while pending.offsets:
        await commit(consumer, list(pending.offsets))
    say("revoked", numbers(consumer.assignment()))
    await consumer.stop()


try:
    asyncio.run(run())
except Exception as problem:  # whatever went wrong must be told
    failed(problem)
    raise
