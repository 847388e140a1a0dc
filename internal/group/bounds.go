package group

// What a member says of itself is kept as long as it is a member, and is told to the leader in one response and written in one
// record, neither of which can be larger than 2 GiB. Kafka has no bound of its own for either; its groups end where their
// record outgrows max.message.bytes.
const (
	// protocolsMax is how many protocols a member may offer, and as many hold back. Clients have one to five.
	protocolsMax = 1000
	// groupBytesMax is what all members of a group may say together.
	groupBytesMax = 256 << 20
)

// remembers says whether there is room for what a Join says. What the member had said before makes room.
func (g *Group) remembers(j *joining) bool {
	others := g.members.bytes
	if who := g.members.byID[j.MemberID]; who != nil {
		others -= who.bytes()
	}
	return others+len(j.ClientID)+bytesOf(j.offers)+bytesOf(j.withheld) <= groupBytesMax
}
