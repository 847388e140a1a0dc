package broker

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// sight is a group as a client may see it: of every member the id, what it offers and what it was assigned.
type sight struct {
	state   string
	members map[string]string
}

func (s sight) String() string { return fmt.Sprint(s.state, " ", s.members) }

func (s sight) equal(o sight) bool { return s.state == o.state && maps.Equal(s.members, o.members) }

func sightOf(g kmsg.DescribeGroupsResponseGroup) sight {
	s := sight{state: g.State, members: map[string]string{}}
	for _, m := range g.Members {
		s.members[m.MemberID] = fmt.Sprintf("%s gets %s", m.ProtocolMetadata, m.MemberAssignment)
	}
	return s
}

// groupModel is what clients know: what was acknowledged last, and what they have asked for since.
type groupModel struct {
	sights  []sight           // the first was acknowledged, the others are possible
	offsets map[int32][]int64 // likewise, by partition
}

// Clone is for wrecks.
func (m *groupModel) Clone() *groupModel {
	c := &groupModel{sights: slices.Clone(m.sights), offsets: map[int32][]int64{}}
	for p, values := range m.offsets {
		c.offsets[p] = slices.Clone(values)
	}
	return c
}

// groupCrash is a disk as the end of a broker has left it.
type groupCrash = wreck[*groupModel]

// groupRun is a group whose members come, go, rejoin and commit, on a disk that is looked at before some of its changes.
type groupRun struct {
	*house
	wrecks[*groupModel]
	dice    *rand.Rand
	members []*member
	ops     []string
}

const groupCrashStride = 2

// TestAGroupSurvivesACrashAtAnyChangeOfTheDisk: after a kill or a power cut at any write, the group and its offsets are
// those that were acknowledged last, or what was being asked for. R-D16.
func TestAGroupSurvivesACrashAtAnyChangeOfTheDisk(t *testing.T) {
	seeds := uint64(8)
	if underRace {
		seeds = 1
	}
	surviveWrecks(t, seeds, runGroup, checkGroup)
}

func runGroup(t *testing.T, seed uint64) (*wrecks[*groupModel], []string) {
	disk := vfs.NewMemory()
	r := &groupRun{
		house: &house{t: t, disk: disk, faults: vfs.NewFaults(disk), settings: groupCrashSettings()},
		dice:  rand.New(rand.NewPCG(seed, 11)),
	}
	r.seed, r.model = seed, &groupModel{sights: []sight{{state: "Dead"}}, offsets: map[int32][]int64{}}
	r.open()
	r.createTopic("t", 3)
	for p := range int32(3) {
		r.model.offsets[p] = []int64{-1}
	}
	r.follow(r.faults, disk, func(n int, _ *groupModel) int {
		if n%groupCrashStride != int(seed)%groupCrashStride {
			return 0
		}
		return 1
	})
	for range 60 {
		if err := r.step(); err != nil {
			t.Errorf("%v: %v", r.ops, err)
			break
		}
	}
	r.shutdown()
	return &r.wrecks, r.ops
}

// may says that the group may look so from now on.
func (r *groupRun) may(s sight) {
	r.know(func(m *groupModel) { m.sights = append(m.sights, s) })
}

// does says that it does.
func (r *groupRun) does(s sight) {
	r.know(func(m *groupModel) { m.sights = []sight{s} })
}

// step does one thing.
func (r *groupRun) step() error {
	switch n := r.dice.IntN(10); {
	case len(r.members) == 0 || n == 0 && len(r.members) < 4:
		return r.comes()
	case n == 1:
		return r.goes()
	case n == 2:
		return r.comesBack()
	default:
		return r.commits()
	}
}

// comes adds a member, every second of them static.
func (r *groupRun) comes() error {
	m := r.member("g", []byte(fmt.Sprint("offer ", len(r.ops))))
	if len(r.ops)%2 == 0 {
		m.instance = kmsg.StringPtr(fmt.Sprint("instance ", len(r.ops)))
	}
	r.ops = append(r.ops, "comes")
	r.may(sight{state: "Empty", members: map[string]string{}}) // a group that was not known is kept before its first round
	r.members = append(r.members, m)
	return r.round(m)
}

// goes lets a member leave, and the others go on.
func (r *groupRun) goes() error {
	i := r.dice.IntN(len(r.members))
	m := r.members[i]
	r.members = slices.Delete(r.members, i, i+1)
	r.ops = append(r.ops, "goes")
	empty := sight{state: "Empty", members: map[string]string{}}
	if len(r.members) == 0 {
		r.may(empty)
	}
	if err := m.leave(); err != nil {
		return fmt.Errorf("leaving: %w", err)
	}
	if len(r.members) == 0 {
		r.does(empty)
		return nil
	}
	return r.round(r.members[0])
}

// round lets everybody join, first before the others, and sync.
func (r *groupRun) round(first *member) error {
	results := make(chan error, len(r.members))
	go func() { results <- first.join() }()
	synctest.Wait()
	for _, m := range r.members {
		if m != first {
			go func() { results <- m.join() }()
		}
	}
	if err := r.all(results); err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	plan := func(id string) []byte { return fmt.Appendf(nil, "%s in %d", id, first.generation) }
	r.may(r.planned(plan))
	for _, m := range r.members {
		go func() { results <- m.sync(plan) }()
	}
	if err := r.all(results); err != nil {
		return fmt.Errorf("syncing: %w", err)
	}
	r.does(r.planned(plan))
	return nil
}

func (r *groupRun) all(results chan error) (err error) {
	for range r.members {
		err = errors.Join(err, <-results)
	}
	return err
}

// planned is the group as it is to be.
func (r *groupRun) planned(plan func(id string) []byte) sight {
	s := sight{state: "Stable", members: map[string]string{}}
	for _, m := range r.members {
		s.members[m.id] = fmt.Sprintf("%s gets %s", m.offers[0].Metadata, plan(m.id))
	}
	return s
}

// comesBack restarts a static member. Its id is the broker's to choose, so what may be is only known afterwards: until then
// the member may have any id.
func (r *groupRun) comesBack() error {
	i := slices.IndexFunc(r.members, func(m *member) bool { return m.instance != nil })
	if i < 0 {
		return nil
	}
	r.ops = append(r.ops, "comes back")
	old := r.members[i]
	m := r.member("g", old.offers[0].Metadata)
	m.instance = old.instance
	was := sight{state: anyID, members: maps.Clone(r.model.sights[0].members)}
	delete(was.members, old.id)
	was.members[""] = fmt.Sprintf("%s gets %s", old.offers[0].Metadata, old.assignment)
	r.may(was)
	if err := m.join(); err != nil {
		return fmt.Errorf("coming back: %w", err)
	}
	if err := m.sync(nil); err != nil {
		return fmt.Errorf("coming back: syncing: %w", err)
	}
	r.members[i] = m
	now := sight{state: "Stable", members: maps.Clone(was.members)}
	now.members[m.id] = now.members[""]
	delete(now.members, "")
	r.does(now)
	return nil
}

// anyID is the state of a sight in which the member "" stands for one of any id.
const anyID = "Stable, with a member of any id"

// commits commits an offset.
func (r *groupRun) commits() error {
	m, p := r.members[r.dice.IntN(len(r.members))], int32(r.dice.IntN(3))
	value := int64(len(r.ops))
	r.ops = append(r.ops, fmt.Sprintf("commits %d to %d", value, p))
	r.know(func(m *groupModel) { m.offsets[p] = append(m.offsets[p], value) })
	if err := commitOffset(m.w, "g", m, "t", p, value); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	r.know(func(m *groupModel) { m.offsets[p] = []int64{value} })
	return nil
}

// checkGroup opens a broker on what is left, and twice, since the second has nothing to recover.
func checkGroup(t *testing.T, c *groupCrash) {
	h := &house{t: t, disk: c.disk, settings: groupCrashSettings()}
	h.open()
	seen := lookAtGroup(h, c)
	h.restart()
	if again := lookAtGroup(h, c); !again.equal(seen) {
		t.Errorf("%s: %v, and after a clean restart %v", c.where, seen, again)
	}
	h.shutdown()
}

func lookAtGroup(h *house, c *groupCrash) sight {
	w := h.wire()
	for p, possible := range c.model.offsets {
		var got int64
		err := retrying(func() (err error) {
			got, err = committedOffset(w, "g", "t", p)
			return err
		})
		if err != nil || !slices.Contains(possible, got) {
			h.t.Errorf("%s: the offset of partition %d is %d (%v), want one of %v", c.where, p, got, err, possible)
		}
	}
	g, err := describeGroup(w, "g")
	seen := sightOf(g)
	if errors.Is(err, kerr.GroupIDNotFound) {
		seen = sight{state: "Dead"}
		err = nil
	}
	if err != nil || !slices.ContainsFunc(c.model.sights, seen.isA) {
		h.t.Errorf("%s: the group is %v (%v), want one of %v", c.where, seen, err, c.model.sights)
	}
	return seen
}

// isA reports whether s is what want says.
func (s sight) isA(want sight) bool {
	if want.state != anyID {
		return s.equal(want)
	}
	known := 0
	for id, what := range want.members {
		if s.members[id] == what {
			known++
		}
	}
	return s.state == "Stable" && len(s.members) == len(want.members) && known == len(s.members)-1
}
