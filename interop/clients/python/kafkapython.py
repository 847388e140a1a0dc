"""kafka-python."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from protocol import Deadline, StreamReader, StreamWriter, serve


def produce(bootstrap, topic, codec, name):
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        enable_idempotence=True,
        compression_type=None if codec == "none" else codec,
        linger_ms=20,
        max_request_size=4 << 20,
    )
    futures = []
    for partition, timestamp, key, value, headers in StreamReader(name):
        futures.append(
            producer.send(
                topic,
                value=value,
                key=key,
                headers=headers,
                partition=partition,
                timestamp_ms=None if timestamp < 0 else timestamp,
            )
        )
    producer.flush(timeout=60)
    for future in futures:
        future.get(timeout=60)
    producer.close()


def consume(bootstrap, topic, count, name):
    wanted = int(count)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
        max_partition_fetch_bytes=4 << 20,
    )
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    out, done, deadline = StreamWriter(name), 0, Deadline()
    while done < wanted:
        for records in consumer.poll(timeout_ms=500).values():
            for r in records:
                out.write(r.partition, r.timestamp, r.key, r.value, r.headers)
                done += 1
            deadline.progress()
        deadline.check(done, wanted)
    out.close()
    consumer.close()


serve(produce, consume)
