// Package exactlyonce runs a program that reads topics, and writes what follows from each record to others exactly once: the output of
// a record and the group's offset after it are in one transaction.
//
//	err := exactlyonce.Run(ctx, exactlyonce.Config{
//		Consumer: consumer.Config{Group: "billing"},
//		Topics:   []string{"payments"},
//	}, func(ctx context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
//		for r := range batch.Records() {
//			out.Send(&producer.Record{Topic: "invoices", Key: r.Key, Value: invoice(r.Value)})
//		}
//		return nil
//	})
//
// A process has one producer and one transaction at a time, however many partitions it has; its group fences it by generation (KIP-447).
// What is to be done next is decided by internal/work; this package is its shell: one goroutine, that of Run, polls, has records processed, and
// commits. Only processing is done by several at once, if Config.Concurrency says so.
//
// What is exactly once is what comes of it in Kafka. Whatever else the function does may happen more often, since a transaction that is not
// committed is done again.
package exactlyonce
