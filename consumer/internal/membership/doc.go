// Package membership is the life of one member of a classic consumer group, as a pure machine: it is given answers of the
// broker, polls of the user, ends of callbacks, changes of metadata and the clock, and says which requests to send, which
// callbacks to run and which partitions records may come of. It waits for nothing and does nothing itself.
//
// What one may rely on (docs/requirements.md):
//
//   - Stop takes effect before anything else of an Output: no record of a partition is handed out after it.
//   - At most one callback is under way, and one request whose answer counts, besides a heartbeat.
//   - Records of a partition are handed out from the Start that names it to the Stop that does. A callback follows each Stop:
//     what is revoked may be committed until it has ended, what is lost may not (R-B3, R-B4, R-C19).
//   - While it owns anything it offers COOPERATIVE assignors alone (R-C12); docs/decision/0008-one-bounce.md says why.
//
// The member follows the protocol of the assignor that was selected last (R-C11), unless Config.Static asks for Kafka's way: one
// protocol for its whole life (R-B1).
package membership
