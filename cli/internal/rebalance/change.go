package rebalance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is what happens to a group before it is planned for.
type Change struct {
	// Leave lists members that leave; a member is named by its id or by the
	// beginning of it, where that is clear.
	Leave []string
	// Join lists members that join: NAME, or NAME=TOPIC,TOPIC. Without topics they
	// subscribe as most others do.
	Join []string
	// Subscribe lists new subscriptions, MEMBER=TOPIC,TOPIC.
	Subscribe []string
	// Partitions lists topics with their new number of partitions, TOPIC=NUMBER; a
	// topic that is not there appears.
	Partitions []string
}

// None reports whether nothing changes.
func (c Change) None() bool {
	return len(c.Leave)+len(c.Join)+len(c.Subscribe)+len(c.Partitions) == 0
}

// Apply returns the group after the change; g is left as it is.
func (c Change) Apply(g Group) (Group, error) {
	g.Members, g.Topics = slices.Clone(g.Members), slices.Clone(g.Topics)
	usual := g.usualTopics()
	for _, step := range []func(*Group, []string) error{c.partitions, c.subscribe, c.leave} {
		if err := step(&g, usual); err != nil {
			return Group{}, err
		}
	}
	return g, c.join(&g, usual)
}

func (c Change) leave(g *Group, _ []string) error {
	for _, name := range c.Leave {
		i, err := g.find(name)
		if err != nil {
			return err
		}
		g.Members = slices.Delete(g.Members, i, i+1)
	}
	return nil
}

func (c Change) join(g *Group, usual []string) error {
	for _, j := range c.Join {
		name, topics, _ := strings.Cut(j, "=")
		if slices.ContainsFunc(g.Members, func(m Member) bool { return m.ID == name }) {
			return fmt.Errorf("%q cannot join: the group has a member of that name", name)
		}
		m := Member{ID: name, Topics: usual, Generation: -1}
		if topics != "" {
			m.Topics = strings.Split(topics, ",")
		}
		g.Members = append(g.Members, m)
	}
	return nil
}

func (c Change) subscribe(g *Group, _ []string) error {
	for _, s := range c.Subscribe {
		name, topics, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not MEMBER=TOPIC,TOPIC", s)
		}
		i, err := g.find(name)
		if err != nil {
			return err
		}
		g.Members[i].Topics = strings.FieldsFunc(topics, func(r rune) bool { return r == ',' })
	}
	return nil
}

func (c Change) partitions(g *Group, _ []string) error {
	for _, s := range c.Partitions {
		topic, number, _ := strings.Cut(s, "=")
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not TOPIC=NUMBER", s)
		}
		i := slices.IndexFunc(g.Topics, func(t Topic) bool { return t.Name == topic })
		if i < 0 {
			i = len(g.Topics)
			g.Topics = append(g.Topics, Topic{Name: topic})
		}
		g.Topics[i].Partitions = int32(n)
	}
	return nil
}

// find returns the member of a name or of the only one that begins so.
func (g *Group) find(name string) (int, error) {
	found := -1
	for i, m := range g.Members {
		switch {
		case m.ID == name || m.InstanceID == name && name != "":
			return i, nil
		case !strings.HasPrefix(m.ID, name):
		case found >= 0:
			return 0, fmt.Errorf("%q is the beginning of several members: %s, %s", name, g.Members[found].ID, m.ID)
		default:
			found = i
		}
	}
	if found < 0 {
		return 0, g.noMember(name)
	}
	return found, nil
}

// NoMemberError is a name that no member of the group has.
type NoMemberError struct {
	Name    string
	Members []string // ids, and instance ids, that there are
}

func (e *NoMemberError) Error() string { return fmt.Sprintf("the group has no member %q", e.Name) }

func (g *Group) noMember(name string) error {
	e := &NoMemberError{Name: name}
	for _, m := range g.Members {
		e.Members = append(e.Members, m.ID)
		if m.InstanceID != "" {
			e.Members = append(e.Members, m.InstanceID)
		}
	}
	return e
}

// usualTopics is the subscription that most members have.
func (g *Group) usualTopics() []string {
	votes := map[string]int{}
	best := ""
	for _, m := range g.Members {
		topics := slices.Sorted(slices.Values(m.Topics))
		key := strings.Join(topics, ",")
		votes[key]++
		if votes[key] > votes[best] {
			best = key
		}
	}
	if best == "" {
		return nil
	}
	return strings.Split(best, ",")
}
