// Package broker is a Kafka-compatible broker to run or to embed. It is the
// only room that knows all the rooms below it; it wires them and decides
// nothing itself.
//
// A broker is opened, serves, and is shut down:
//
//	b, err := broker.Open(ctx, broker.Config{Dir: "skein-data"})
//	l, err := net.Listen("tcp", "127.0.0.1:9092")
//	go b.Serve(l)
//	...
//	err = b.Shutdown(ctx)
//
// The zero Config is a broker in memory, for tests and programs that keep
// nothing; [Broker.Dial] connects to a broker of the same process without a
// network. Several brokers may run in one process; they share nothing.
//
// What a request passes on its way: internal/server reads a frame, internal/api
// decides what it asks, internal/partition appends or reads records,
// internal/commit makes appends durable, internal/storage keeps them in
// segments. internal/catalog knows the topics.
package broker
