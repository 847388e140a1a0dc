package assign

import "slices"

// CooperativeSticky is Kafka's assignor of that name (KIP-429). It plans as
// Sticky does and then leaves out what must be revoked first: a partition never
// has two owners, and what nobody has moves at once. Members that revoked
// something join again, and the second round gives out the rest; there never is
// a third, because the rest of the first plan is an optimum without moves.
//
// Ownership is read from Subscription.Owned, its generation from the
// subscription or else from four bytes of user data. A group whose members run
// it under EAGER has neither, and is then not sticky (R-A21).
type CooperativeSticky struct{ Options }

// Name returns "cooperative-sticky".
func (CooperativeSticky) Name() string { return "cooperative-sticky" }

// Protocols returns Cooperative and Eager.
func (CooperativeSticky) Protocols() []Protocol { return []Protocol{Cooperative, Eager} }

// Assign plans one round; see Target for where the rounds lead.
func (s CooperativeSticky) Assign(in Input) (Plan, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, err
	}
	c := x.settle(cooperativeClaim)
	before := *c
	c.owner = slices.Clone(c.owner)
	owner, err := x.solve(s.Options, c)
	if err != nil {
		return Plan{}, err
	}
	before.withhold(owner)
	return x.plan(owner), nil
}

// Target plans what the group has when its rounds are over, as if everything
// could move at once.
func (s CooperativeSticky) Target(in Input) (Plan, error) {
	x, err := newIndex(in)
	if err != nil {
		return Plan{}, err
	}
	return x.optimal(s.Options, x.settle(cooperativeClaim))
}

// SubscriptionUserData returns the generation of what the member owns, in
// Kafka's four bytes.
func (CooperativeSticky) SubscriptionUserData(_ []string, h History) []byte {
	if h.Owned == nil {
		return AppendCooperativeUserData(nil, NoGeneration)
	}
	return AppendCooperativeUserData(nil, h.Generation)
}

func cooperativeClaim(m *Member) claim {
	generation := m.Generation
	if generation < 0 && len(m.UserData) > 0 {
		generation = DecodeCooperativeUserData(m.UserData)
	}
	return claim{m.Owned, max(generation, NoGeneration)}
}
