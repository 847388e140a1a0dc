package rebalance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skeinstream/skein/assign"
)

// Outcome is what a plan does to a group.
type Outcome struct {
	Assignor string          `json:"assignor"`
	Members  []MemberOutcome `json:"members"`
	// Stay, Move and Free count partitions that keep their owner, that change it, and
	// that had none. Nobody counts those that no member wants.
	Stay   int `json:"stay"`
	Move   int `json:"move"`
	Free   int `json:"free"`
	Nobody int `json:"nobody,omitempty"`
	// Misfits counts partitions that go to a member in a rack without a replica.
	Misfits int `json:"misfits,omitempty"`
	// Rounds is how many times the group rebalances until it has the plan.
	Rounds int `json:"rounds"`
	// Proven: no plan is better at what the assignor was asked for, or, where it has no
	// goals of its own, has fairer loads or moves fewer. Proof says so in words,
	// Finding what is wrong otherwise.
	Proven    bool        `json:"proven"`
	Proof     string      `json:"proof,omitempty"`
	Finding   string      `json:"finding,omitempty"`
	Gap       *Gap        `json:"gap,omitempty"`
	Transfers []Transfer  `json:"transfers"`
	Plan      assign.Plan `json:"-"`
}

// Gap is how near a weighted plan is to its bound.
type Gap struct {
	Bound    int64   `json:"bound"`
	Reached  int64   `json:"reached"`
	Heaviest int64   `json:"heaviest"`
	Percent  float64 `json:"percent"`
}

// MemberOutcome is one member's part.
type MemberOutcome struct {
	Member string `json:"member"`
	Now    int    `json:"now"`
	Then   int    `json:"then"`
	Loses  int    `json:"loses"`
	Gets   int    `json:"gets"`
	Left   bool   `json:"left,omitempty"`
	Joined bool   `json:"joined,omitempty"`
}

// Transfer is a partition that changes hands; From or To is "" for nobody.
type Transfer struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      string `json:"from"`
	To        string `json:"to"`
}

// Play changes a group, plans for it, and compares. It tells stage what it is
// about to do: with a million partitions that takes seconds.
func Play(g Group, c Change, a assign.Assignor, stage func(doing string)) (Outcome, error) {
	after, err := c.Apply(g)
	if err != nil {
		return Outcome{}, err
	}
	in := after.Input()
	stage("planning for " + after.size())
	out := Outcome{Assignor: a.Name(), Rounds: 1}
	if out.Plan, err = out.plan(a, in); err != nil {
		return Outcome{}, err
	}
	stage("proving the plan for " + after.size())
	score, err := assign.Measure(in, out.Plan)
	if err != nil {
		return Outcome{}, err
	}
	out.Move, out.Misfits = score.Moves, score.Misfits
	out.prove(a, in)
	stage("comparing the plan for " + after.size())
	out.compare(g, after)
	return out, nil
}

func (out *Outcome) plan(a assign.Assignor, in assign.Input) (assign.Plan, error) {
	switch a := a.(type) {
	case assign.CooperativeSticky:
		first, err := a.Assign(in)
		if err != nil {
			return assign.Plan{}, err
		}
		target, err := a.Target(in)
		if err == nil && first.Partitions() < target.Partitions() {
			out.Rounds = 2
		}
		return target, err
	case assign.Weighted:
		plan, gap, err := a.Plan(in)
		out.Gap = &Gap{gap.Bound, gap.Reached, gap.Heaviest, gap.Percent()}
		return plan, err
	}
	return a.Assign(in)
}

func (out *Outcome) prove(a assign.Assignor, in assign.Input) {
	o := asked(a)
	if err := assign.Verify(in, out.Plan, o); err != nil {
		out.Finding = err.Error()
		return
	}
	out.Proven, out.Proof = true, proof(o)
}

// asked is what an assignor is to be optimal for.
func asked(a assign.Assignor) assign.Options {
	switch a := a.(type) {
	case assign.Sticky:
		return a.Options
	case assign.CooperativeSticky:
		return a.Options
	}
	return assign.Options{Racks: assign.RacksIgnored}
}

func proof(o assign.Options) string {
	switch {
	case o.Slack > 0:
		return fmt.Sprintf("no plan with loads within %d of the fairest moves fewer", o.Slack)
	case o.Racks == assign.RacksBeforeMoves:
		return "no plan has fairer loads, none with such loads has fewer in a wrong rack, and of those none moves fewer"
	}
	return "no plan has fairer loads, and none with such loads moves fewer"
}

// place is one partition.
type place struct {
	topic     string
	partition int32
}

// compare fills in who had what and who gets it.
func (out *Outcome) compare(before, after Group) {
	had := map[place]string{}
	rows := map[string]*MemberOutcome{}
	for _, m := range before.Members {
		rows[m.ID] = &MemberOutcome{Member: m.ID, Left: true}
		for topic, partitions := range m.Owned {
			for _, p := range partitions {
				had[place{topic, p}] = m.ID
				rows[m.ID].Now++
			}
		}
	}
	gets := map[place]string{}
	for i, m := range after.Members {
		if rows[m.ID] == nil {
			rows[m.ID] = &MemberOutcome{Member: m.ID, Joined: true}
		}
		rows[m.ID].Left = false
		rows[m.ID].Then = out.Plan.Load(i)
		for topic, partitions := range out.Plan.Of(i) {
			for _, p := range partitions {
				gets[place{topic, p}] = m.ID
			}
		}
	}
	out.transfers(after, had, gets, rows)
	for _, r := range rows {
		out.Members = append(out.Members, *r)
	}
	slices.SortFunc(out.Members, func(a, b MemberOutcome) int { return strings.Compare(a.Member, b.Member) })
}

func (out *Outcome) transfers(after Group, had, gets map[place]string, rows map[string]*MemberOutcome) {
	out.Transfers = []Transfer{}
	for _, t := range after.Topics {
		for p := range t.Partitions {
			from, to := had[place{t.Name, p}], gets[place{t.Name, p}]
			switch {
			case from == to && to != "":
				out.Stay++
				continue
			case to == "":
				out.Nobody++
			case from == "" || rows[from].Left:
				out.Free++
			}
			if from == "" && to == "" {
				continue
			}
			out.Transfers = append(out.Transfers, Transfer{t.Name, p, from, to})
			if from != "" {
				rows[from].Loses++
			}
			if to != "" {
				rows[to].Gets++
			}
		}
	}
}
