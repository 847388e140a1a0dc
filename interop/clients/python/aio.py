"""aiokafka."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from protocol import Deadline, StreamReader, StreamWriter, serve


async def produce(bootstrap, topic, codec, name):
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        enable_idempotence=True,
        compression_type=None if codec == "none" else codec,
        linger_ms=20,
        max_request_size=4 << 20,
    )
    await producer.start()
    try:
        futures = []
        for partition, timestamp, key, value, headers in StreamReader(name):
            futures.append(
                await producer.send(
                    topic,
                    value=value,
                    key=key,
                    headers=headers,
                    partition=partition,
                    timestamp_ms=None if timestamp < 0 else timestamp,
                )
            )
        await asyncio.wait_for(asyncio.gather(*futures), 60)
    finally:
        await producer.stop()


async def consume(bootstrap, topic, count, name):
    wanted = int(count)
    consumer = AIOKafkaConsumer(
        topic,  # without a group: every partition
        auto_offset_reset="earliest",
        bootstrap_servers=bootstrap,
        group_id=None,
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
        max_partition_fetch_bytes=4 << 20,
    )
    await consumer.start()
    try:
        out, done, deadline = StreamWriter(name), 0, Deadline()
        while done < wanted:
            for records in (await consumer.getmany(timeout_ms=500)).values():
                for r in records:
                    out.write(r.partition, r.timestamp, r.key, r.value, r.headers)
                    done += 1
                deadline.progress()
            deadline.check(done, wanted)
        out.close()
    finally:
        await consumer.stop()


serve(lambda *a: asyncio.run(produce(*a)), lambda *a: asyncio.run(consume(*a)))
