// Package grouptags reads and writes the tagged fields that Skein adds to Kafka's messages about groups. Who does not know
// them passes over them; docs/format/group-tags.md has the bytes.
//
// The broker, the command line and clients share it: a client says in JoinGroup which protocols it holds back ([JoinWithheld]),
// the broker keeps all protocols of members in the log ([StoredOffers], [StoredWithheld]), and tells in DescribeGroups their
// names ([DescribeOffers], [DescribeWithheld]) and how a group came to its generations ([DescribeHistory]).
package grouptags

// The numbers of the fields. Kafka counts its own from 0.
const (
	// JoinWithheld is in JoinGroup requests from version 6: protocols that the member holds back, as AppendProtocols writes.
	JoinWithheld = 10000
	// StoredOffers is in members of GroupMetadataValue version 4: all protocols that the member offers.
	StoredOffers = 10000
	// StoredWithheld is in members of GroupMetadataValue version 4: those that it holds back.
	StoredWithheld = 10001
	// DescribeHistory is in groups of DescribeGroups responses from version 5: as AppendHistory writes.
	DescribeHistory = 10000
	// DescribeOffers is in members of DescribeGroups responses from version 5: the names of the protocols that the member
	// offers, in its order, as AppendNames writes.
	DescribeOffers = 10000
	// DescribeWithheld is in members of DescribeGroups responses from version 5: the names of those that it holds back.
	DescribeWithheld = 10001
)
