// Package rebalance answers what would happen to a consumer group: it holds a
// group as a file or a cluster tells it, changes it, plans for it with any assignor,
// and shows the outcome as a table's rows or as a picture. It decides nothing
// itself: package assign does.
package rebalance

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/skeinstream/skein/assign"
)

// Group is a group in the form of a file.
type Group struct {
	Name     string   `json:"group,omitempty"`
	Assignor string   `json:"assignor,omitempty"`
	Members  []Member `json:"members"`
	Topics   []Topic  `json:"topics"`
	// Plan is a plan to verify: partitions by member and topic.
	Plan map[string]map[string][]int32 `json:"plan,omitempty"`
}

// Member is one member: what it wants, where it is, and what it has.
type Member struct {
	ID         string             `json:"id"`
	InstanceID string             `json:"instance_id,omitempty"`
	Rack       string             `json:"rack,omitempty"`
	Topics     []string           `json:"topics"`
	Owned      map[string][]int32 `json:"owned,omitempty"`
	Generation int32              `json:"generation,omitempty"`
}

// Topic is one topic; racks and weights are by partition and may be missing.
type Topic struct {
	Name       string     `json:"name"`
	Partitions int32      `json:"partitions"`
	Racks      [][]string `json:"racks,omitempty"`
	Weights    []int64    `json:"weights,omitempty"`
}

// Read reads a group. Fields that it does not know are errors, since a misspelt
// one would silently change the answer.
func Read(r io.Reader) (Group, error) {
	var g Group
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&g); err != nil {
		return Group{}, fmt.Errorf("reading the group: %w", err)
	}
	return g, nil
}

// Write writes a group so that Read reads it.
func (g Group) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(g)
}

// Input is the group for an assignor.
func (g Group) Input() assign.Input {
	in := assign.Input{Members: make([]assign.Member, len(g.Members)), Topics: make([]assign.Topic, len(g.Topics))}
	for i, m := range g.Members {
		in.Members[i] = assign.Member{ID: m.ID, InstanceID: m.InstanceID, Subscription: assign.Subscription{
			Topics: m.Topics, Rack: m.Rack, Generation: m.Generation, Owned: listOf(m.Owned),
		}}
	}
	for i, t := range g.Topics {
		in.Topics[i] = assign.Topic{Name: t.Name, Partitions: t.Partitions, Racks: t.Racks, Weights: t.Weights}
	}
	return in
}

func listOf(byTopic map[string][]int32) []assign.TopicPartitions {
	var list []assign.TopicPartitions
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		list = append(list, assign.TopicPartitions{Topic: topic, Partitions: byTopic[topic]})
	}
	return list
}

// size says how large the group is.
func (g Group) size() string {
	partitions := int64(0)
	for _, t := range g.Topics {
		partitions += int64(t.Partitions)
	}
	return fmt.Sprintf("%d members and %d partitions", len(g.Members), partitions)
}

// Planned is the plan that the group came with.
func (g Group) Planned() (assign.Plan, error) {
	lists := make([][]assign.TopicPartitions, len(g.Members))
	used := 0
	for i, m := range g.Members {
		if planned, has := g.Plan[m.ID]; has {
			lists[i] = listOf(planned)
			used++
		}
	}
	if used < len(g.Plan) {
		return assign.Plan{}, fmt.Errorf("the plan names a member that the group does not have")
	}
	return assign.PlanOf(lists), nil
}

// Assignor returns the assignor of a name, as members configure it.
func Assignor(name string, o assign.Options) (a assign.Assignor, known bool) {
	all := []assign.Assignor{
		assign.CooperativeSticky{Options: o}, assign.Sticky{Options: o}, assign.Range{}, assign.RoundRobin{},
		assign.FairOptimal{Racks: o.Racks}, assign.Fair{}, assign.Weighted{},
	}
	i := slices.IndexFunc(all, func(a assign.Assignor) bool { return a.Name() == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// AssignorNames lists the names that Assignor knows, the best first.
func AssignorNames() []string {
	return []string{"cooperative-sticky", "sticky", "range", "roundrobin", "fair-optimal", "fair", "weighted"}
}
