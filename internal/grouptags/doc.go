// Package grouptags reads and writes the tagged fields that Skein adds to Kafka's messages about groups. Who does not know
// them passes over them; docs/format/group-tags.md has the bytes.
//
// The broker, the command line and clients share it: a client says in JoinGroup which protocols it holds back ([Withheld]),
// the broker keeps all protocols of members in the log ([Offers], [Withheld]) and tells in DescribeGroups how a group came
// to its generations ([History]).
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
)
