"""confluent-kafka, which is librdkafka."""

from confluent_kafka import Consumer, OFFSET_BEGINNING, Producer, TopicPartition

from protocol import Deadline, StreamReader, StreamWriter, serve

def produce(bootstrap, topic, codec, name):
    failures = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": codec,
            "linger.ms": 20,
            "message.timeout.ms": 60000,
            "queue.buffering.max.kbytes": 262144,
            "queue.buffering.max.messages": 200000,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failures.append(error),
        }
    )
    for partition, timestamp, key, value, headers in StreamReader(name):
        options = {} if timestamp < 0 else {"timestamp": timestamp}
        while True:
            try:
                producer.produce(topic, value, key, partition, headers=headers or None, **options)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60) or failures:
        raise RuntimeError(f"{len(failures)} records failed: {failures[:1]}")


def consume(bootstrap, topic, count, name):
    wanted = int(count)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",  # the library insists; assign() needs no group
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "fetch.wait.max.ms": 50,
            "fetch.message.max.bytes": 4 << 20,
        }
    )
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    out, done, deadline = StreamWriter(name), 0, Deadline()
    while done < wanted:
        for message in consumer.consume(min(10000, wanted - done), timeout=0.5):
            if message.error():
                raise RuntimeError(message.error())
            out.write(message.partition(), message.timestamp()[1], message.key(), message.value(), message.headers())
            done += 1
            deadline.progress()
        deadline.check(done, wanted)
    out.close()
    consumer.close()


serve(produce, consume)
