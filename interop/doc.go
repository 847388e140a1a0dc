// Package interop shows, with real peers, that Skein is what its clients take
// it for: unmodified clients of other projects produce to it and read from it,
// Apache Kafka's own tools read its files, and a real Kafka broker is asked
// the same questions.
//
// The module is apart from the broker's so that whoever embeds the broker does
// not inherit the clients used here. README.md tells how to run it.
package interop
