package differential

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// cast is who plays in the groups of a case on one side. Member ids are each
// broker's own; here a member is "a", and the ids that it was given are a#1,
// a#2 and so on.
type cast struct {
	addr      string
	players   map[string]*player
	names     map[string]string // of member ids
	pending   map[string]bool   // ids that were handed out and have not joined
	parked    map[string]parked // requests that wait, by player
	committed map[string]bool   // groups that were committed to
	// The last generation that was told, who leads it, and who led the one before.
	generation     int32
	leader, before string
}

// parked is what a waiting request is about.
type parked struct {
	key int16
	id  string
}

// player is a client of a group, with a connection of its own.
type player struct {
	conn       conn
	id         string
	former     []string
	named      int
	generation int32
	leads      bool
	members    []string // of the generation that it leads
	kind       *string  // protocol type and protocol of the generation
	protocol   *string
}

func newCast(addr string) *cast {
	return &cast{
		addr: addr, players: make(map[string]*player), names: make(map[string]string),
		pending: make(map[string]bool), parked: make(map[string]parked), committed: make(map[string]bool),
	}
}

// leave closes every connection.
func (c *cast) leave() {
	for _, p := range c.players {
		p.conn.close()
	}
}

func (c *cast) player(name string) *player {
	p, ok := c.players[name]
	if !ok {
		p = &player{conn: conn{addr: c.addr, client: "client-" + name}, generation: -1}
		c.players[name] = p
	}
	return p
}

// foreverPatience is longer than any request waits.
const foreverPatience = time.Hour

// send sends a player's request. Its answer comes on the channel, whose reader
// ends with the connection.
func (c *cast) send(by string, request kmsg.Request) (chan reply, error) {
	p := c.player(by)
	answer := make(chan reply, 1)
	if err := p.conn.send(request); err != nil {
		answer <- reply{err: err}
		return answer, err
	}
	c.parked[by] = parkedOf(request)
	sent := p.conn // its own copy: the player may hang up
	go func() {
		response, err := sent.answer(request, foreverPatience)
		answer <- reply{response, err}
	}()
	return answer, nil
}

func parkedOf(request kmsg.Request) parked {
	switch r := request.(type) {
	case *kmsg.JoinGroupRequest:
		return parked{r.Key(), r.MemberID}
	case *kmsg.SyncGroupRequest:
		return parked{r.Key(), r.MemberID}
	}
	return parked{key: request.Key()}
}

func (c *cast) landed(by string) { delete(c.parked, by) }

func (c *cast) hangUp(by string) {
	c.player(by).conn.close()
	delete(c.parked, by)
}

// waits tells whether a request of one of these keys waits with this member id.
func (c *cast) waits(id string, keys ...kmsg.Key) bool {
	for _, p := range c.parked {
		if id != "" && p.id == id && slices.Contains(keys, kmsg.Key(p.key)) {
			return true
		}
	}
	return false
}

// nobody is a member id that no broker gave.
const nobody = "nobody"

// id resolves who is meant: "" no id, "nobody" an id that was never given, "a"
// the id of player a, "a-" the one that it had before.
func (c *cast) id(who string) string {
	if who == "" || who == nobody {
		return who
	}
	if name, before := trimmed(who); before {
		if p := c.player(name); len(p.former) > 0 {
			return p.former[len(p.former)-1]
		}
		return nobody
	}
	return c.player(who).id
}

func trimmed(who string) (name string, before bool) {
	if who[len(who)-1] == '-' {
		return who[:len(who)-1], true
	}
	return who, false
}

// stale are the ids that players no longer use.
func (c *cast) stale() []string {
	var all []string
	for _, name := range sortedKeys(c.players) {
		all = append(all, c.players[name].former...)
	}
	return all
}

// given remembers the id that a player was given.
func (c *cast) given(by, id string, pending bool) {
	p := c.player(by)
	if _, known := c.names[id]; !known {
		p.named++
		c.names[id] = fmt.Sprintf("%s#%d", by, p.named)
	}
	delete(c.pending, id)
	if pending {
		c.pending[id] = true
	}
	if p.id != "" && p.id != id {
		p.former = append(p.former, p.id)
	}
	p.id = id
}

// refused makes a player forget its id, as clients do.
func (c *cast) refused(by string) {
	p := c.player(by)
	if p.id != "" {
		p.former = append(p.former, p.id)
	}
	p.id, p.generation, p.leads, p.members = "", -1, false, nil
}

// generated is a member id with the part that brokers draw at random.
var generated = regexp.MustCompile(`^(.*)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// memberName is how answers show a member id. What comes before the random part
// is shown, for it is the same on both sides.
func (c *cast) memberName(id string) string {
	m := generated.FindStringSubmatch(id)
	if m == nil {
		return fmt.Sprintf("%q", id)
	}
	name, known := c.names[id]
	if !known {
		name = "not told yet"
	}
	return fmt.Sprintf("%s-… (%s)", m[1], name)
}

// joined learns from the answer to a Join.
func (c *cast) joined(by string, r *kmsg.JoinGroupResponse) {
	p := c.player(by)
	c.given(by, r.MemberID, false)
	p.generation, p.leads, p.members = r.Generation, r.LeaderID == r.MemberID, nil
	p.kind, p.protocol = r.ProtocolType, r.Protocol
	if c.generation != r.Generation {
		c.generation, c.before = r.Generation, c.leader
	}
	c.leader = r.LeaderID
	for _, m := range r.Members {
		p.members = append(p.members, m.MemberID)
	}
}

// leaders are who leads and who led before, by name; "" is nobody.
func (c *cast) leaders() (l struct{ now, before string }) {
	l.now = c.memberName(c.leader)
	if c.before != "" {
		l.before = c.memberName(c.before)
	}
	return l
}
