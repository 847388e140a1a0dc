// Package assign decides which member of a consumer group gets which
// partition. It holds every assignor of Kafka (range, roundrobin, sticky,
// cooperative-sticky), the fair one that KIP-49 planned and Kafka never
// shipped, and the encodings through which they travel: a leader that plans
// with this package works in one group with members written in any language,
// whoever leads.
//
// Sticky, CooperativeSticky and FairOptimal share one core that is optimal, not
// a heuristic. Its goals, each decided before the next is looked at:
//
//  1. the fairest loads: the number of partitions per member, sorted from the
//     largest, is lexicographically least. No other plan has a smaller maximum,
//     a smaller gap or a smaller sum of squares;
//  2. the fewest moves: of all fairest plans, one that takes the fewest
//     partitions from a live owner;
//  3. the fewest rack mismatches (before 2 on request), then a preference for
//     members whose claim was stale;
//  4. an even spread of each topic over its members;
//  5. a canonical choice: the plan is a function of the input as a set. The order
//     of members, topics and owned lists does not matter.
//
// Verify proves both optima of a plan after the fact and shares no code with
// the solver. The theory stands in docs/guide/assignors.md.
//
// Everything here is pure: values in, values out. The consumer's leader calls it
// with the subscriptions of a JoinGroup response and sends the result in
// SyncGroup.
package assign
