package group

import (
	"iter"
	"slices"

	"github.com/skeinstream/skein/internal/grouptags"
)

// roster is the members of a group in the order in which they came: the order of everything that goes over all of them. A
// static member that is replaced keeps its place. Groups have thousands of members, who come and go one by one, so each
// operation on one member takes the same time however many there are.
type roster struct {
	first, last *member
	byID        map[string]*member
	byInstance  map[string]*member
	offering    names // of the offers alone
	accepting   names // of offers and what is withheld: who has both is counted once
	joining     int   // whose Join waits
	withholding int   // who hold something back
	bytes       int   // of what all have told of themselves
}

// names counts how many members have a protocol's name in their list.
type names map[string]int

func newRoster() roster {
	return roster{byID: map[string]*member{}, byInstance: map[string]*member{}, offering: names{}, accepting: names{}}
}

func (r *roster) len() int { return len(r.byID) }

func (r *roster) all() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for who := r.first; who != nil; {
			next := who.after // the body may remove who
			if !yield(who) {
				return
			}
			who = next
		}
	}
}

// add puts a member at the end.
func (r *roster) add(who *member) {
	who.before, who.after = r.last, nil
	if r.last == nil {
		r.first = who
	} else {
		r.last.after = who
	}
	r.last = who
	r.index(who)
}

// remove takes a member out, who waits for nothing any more.
func (r *roster) remove(who *member) {
	r.unindex(who)
	*r.before(who), *r.behind(who) = who.after, who.before
	who.before, who.after = nil, nil
}

// replace puts a member in the place of another.
func (r *roster) replace(old, by *member) {
	r.unindex(old)
	by.before, by.after = old.before, old.after
	*r.before(old), *r.behind(old) = by, by
	old.before, old.after = nil, nil
	r.index(by)
}

// before is the pointer that leads to a member, behind the one that leads back to it.
func (r *roster) before(who *member) **member {
	if who.before == nil {
		return &r.first
	}
	return &who.before.after
}

func (r *roster) behind(who *member) **member {
	if who.after == nil {
		return &r.last
	}
	return &who.after.before
}

func (r *roster) index(who *member) {
	r.byID[who.id] = who
	if who.static() {
		r.byInstance[*who.instance] = who
	}
	r.countLists(who, 1)
}

func (r *roster) unindex(who *member) {
	delete(r.byID, who.id)
	if who.static() {
		delete(r.byInstance, *who.instance)
	}
	r.countLists(who, -1)
}

// relist gives a member other lists.
func (r *roster) relist(who *member, offers, withheld []grouptags.Protocol) {
	r.countLists(who, -1)
	who.offers, who.withheld = offers, withheld
	r.countLists(who, 1)
}

// countLists relies on a name being at most once in both lists together.
func (r *roster) countLists(who *member, by int) {
	for _, p := range who.offers {
		r.offering.add(p.Name, by)
		r.accepting.add(p.Name, by)
	}
	for _, p := range who.withheld {
		r.accepting.add(p.Name, by)
	}
	if len(who.withheld) > 0 {
		r.withholding += by
	}
	r.bytes += by * who.bytes()
}

func (n names) add(name string, by int) {
	if n[name] += by; n[name] == 0 {
		delete(n, name)
	}
}

// shared says whether one of a list's names is known to all members (R-C2). Without members every name is.
func (n names) shared(list []grouptags.Protocol, members int) bool {
	for _, p := range list {
		if n[p.Name] == members {
			return true
		}
	}
	return false
}

// common is the names that all members have, in order.
func (n names) common(members int) []string {
	var all []string
	for name, count := range n {
		if count == members {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
