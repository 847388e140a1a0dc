// Package fetchsession remembers what consumers fetch, so that they need not say it again with every request (KIP-227).
//
// A consumer of a thousand partitions would otherwise send, and get, a thousand entries a poll though one has news. With
// a session the request names only what has changed since the last one, and the answer only the partitions that have
// something to say: records, another high watermark or start offset, or an error.
//
// Its place in a fetch: the handler asks [Cache.Begin] for the [Session] that the request speaks of, puts the partitions
// that the request names into it and takes out those that it forgets, reads every partition in the session's order, and
// asks [Session.Report] which results to send. A request outside any session gets a Session of its own, so that the
// handler knows one road only; [Cache.Keep] makes it a real one.
//
// Epochs order the requests of a session. One fetch at a time uses a Session: Begin lends it out and [Cache.Return] takes
// it back, so no lock is held while partitions are read.
//
// The rules are those of Apache Kafka 4.4. Nothing here reads a clock or draws a number: both are arguments.
package fetchsession
