package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/skeinstream/skein/internal/grouptags"
)

// Clients of two groups do what clients do, and things that they should not, in any order, while time passes and the broker
// restarts; stage.check says after each step what must hold. At the end everybody is left alone for long enough: whoever
// still waited has then been answered.
func TestMemberSequences(t *testing.T) { rapid.Check(t, memberSequence) }

// FuzzMemberSequences looks for sequences by coverage.
func FuzzMemberSequences(f *testing.F) { f.Fuzz(rapid.MakeFuzz(memberSequence)) }

func memberSequence(t *rapid.T) {
	s := memberSettings()
	s.InitialRebalanceDelay = rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "delay")
	s.MaxSize = rapid.SampledFrom([]int{0, 2, 5, 100}).Draw(t, "size")
	s.UnionAdmission = rapid.Bool().Draw(t, "union")
	s.ProtocolsPersisted = rapid.Bool().Draw(t, "persisted")
	c := &crowd{t: t, stage: newStage(t, s)}
	t.Repeat(map[string]func(*rapid.T){
		"join":     c.join,
		"rejoin":   c.rejoin,
		"sync":     c.sync,
		"beat":     c.beat,
		"leave":    c.leave,
		"describe": c.describe,
		"delete":   c.delete,
		"commit":   c.commit,
		"wait":     c.wait,
		"restart":  c.restart,
		"turn":     c.turn,
		"turns":    c.turns,
	})
	c.advance(c.now.Add(2 * time.Hour))
	if len(c.waiting) > 0 {
		t.Fatalf("%d callers are never answered", len(c.waiting))
	}
}

// crowd is a few clients. Its actors are "0", "1", … in the groups "g" and "h".
type crowd struct {
	*stage
	t *rapid.T
}

func (c *crowd) who(t *rapid.T) *actor {
	return c.actor(fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "actor")))
}

// home is the group of an actor.
func home(who *actor) string {
	if who.Name >= "4" {
		return "h"
	}
	return "g"
}

// group is that, or sometimes the other.
func (c *crowd) group(t *rapid.T, who *actor) string {
	if rapid.IntRange(0, 9).Draw(t, "astray") == 0 {
		return rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group")
	}
	return home(who)
}

func (c *crowd) join(t *rapid.T) {
	who := c.who(t)
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group = int16(rapid.IntRange(0, 9).Draw(t, "version")), c.group(t, who)
	if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
		r.MemberID = who.ID
	}
	if r.Version >= 5 && rapid.Bool().Draw(t, "static") {
		instance := rapid.SampledFrom([]string{"i0", "i4", "i5"}).Draw(t, "instance")
		r.InstanceID = &instance
	}
	r.ProtocolType = rapid.SampledFrom([]string{"consumer", "consumer", "consumer", "consumer", "connect", ""}).Draw(t, "type")
	r.SessionTimeoutMillis = rapid.SampledFrom([]int32{6_000, 10_000, 45_000, 5_000}).Draw(t, "session")
	r.RebalanceTimeoutMillis = rapid.SampledFrom([]int32{60_000, 10_000, 0, -1}).Draw(t, "rebalance")
	for _, p := range drawProtocols(t, "offers") {
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: p.Name, Metadata: p.Metadata})
	}
	if r.Version >= 6 && rapid.Bool().Draw(t, "holds") {
		r.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, drawProtocols(t, "held")))
	}
	c.step(who, Join{Request: r, ClientID: "c" + who.Name, Host: "/127.0.0.1", NewID: c.nextID()})
}

// drawProtocols leans to what can agree.
func drawProtocols(t *rapid.T, label string) []grouptags.Protocol {
	names := rapid.SampledFrom([][]string{{"p"}, {"p", "q"}, {"q", "p"}, {"p", "q", "r"}, {"q"}, {"p", "p"}, {}}).Draw(t, label)
	list := make([]grouptags.Protocol, len(names))
	for i, name := range names {
		list[i] = grouptags.Protocol{Name: name, Metadata: rapid.SampledFrom([][]byte{nil, {}, {1}, {2}}).Draw(t, "metadata")}
	}
	return list
}

// turn lets every client do what it should do next, who has nothing under way.
func (c *crowd) turn(t *rapid.T) {
	for i := range 7 {
		who := c.actor(fmt.Sprint(i))
		busy := false
		for _, w := range c.waiting {
			busy = busy || w.who == who
		}
		if busy || rapid.IntRange(0, 4).Draw(t, "late") == 0 {
			continue
		}
		switch who.next {
		case "beat":
			c.step(who, Heartbeat{Request: &kmsg.HeartbeatRequest{Version: 4, Group: home(who), MemberID: who.ID, Generation: who.Generation}})
		case "sync":
			r := &kmsg.SyncGroupRequest{Version: 4, Group: home(who), MemberID: who.ID, Generation: who.Generation}
			for _, id := range who.leads {
				r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(id)})
			}
			c.step(who, Sync{Request: r})
		default:
			c.properJoin(who)
		}
	}
}

// turns are as many as it takes to get a group going.
func (c *crowd) turns(t *rapid.T) {
	for range 8 {
		c.turn(t)
		c.advance(c.now.Add(c.settings.InitialRebalanceDelay))
	}
}

// rejoin is the Join of somebody who has an id, at any time.
func (c *crowd) rejoin(t *rapid.T) { c.properJoin(c.who(t)) }

// properJoin is the Join of a client that behaves. Actors 0 and 4 are static members, 1 holds something back.
func (c *crowd) properJoin(who *actor) {
	if who.forgotten {
		who.ID, who.forgotten = "", false
	}
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, home(who), who.ID, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 30_000
	if who.Name == "0" || who.Name == "4" {
		instance := "i" + who.Name
		r.InstanceID = &instance
	}
	names := []string{"p", "q"}
	if who.Name == "1" && c.token%2 == 0 {
		names = names[:1]
		r.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, []grouptags.Protocol{{Name: "q"}}))
	}
	for _, name := range names {
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(who.Name)})
	}
	c.step(who, Join{Request: r, ClientID: "c" + who.Name, Host: "/127.0.0.1", NewID: c.nextID()})
}

func (c *crowd) sync(t *rapid.T) {
	who := c.who(t)
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, c.group(t, who), who.ID, c.generation(t, who)
	if rapid.Bool().Draw(t, "assigns") {
		for i := range 7 {
			a := kmsg.SyncGroupRequestGroupAssignment{MemberID: c.actor(fmt.Sprint(i)).ID, MemberAssignment: []byte{byte(c.token), byte(i)}}
			r.GroupAssignment = append(r.GroupAssignment, a)
		}
	}
	c.step(who, Sync{Request: r})
}

// generation is mostly the one that the actor was told.
func (c *crowd) generation(t *rapid.T, who *actor) int32 {
	return who.Generation + rapid.SampledFrom([]int32{0, 0, 0, 0, 0, -1, 1}).Draw(t, "off")
}

func (c *crowd) beat(t *rapid.T) {
	who := c.who(t)
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, c.group(t, who), who.ID, c.generation(t, who)
	c.step(who, Heartbeat{Request: r})
}

func (c *crowd) leave(t *rapid.T) {
	who := c.who(t)
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.MemberID = int16(rapid.IntRange(0, 5).Draw(t, "version")), c.group(t, who), who.ID
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		m := kmsg.LeaveGroupRequestMember{MemberID: c.who(t).ID}
		if rapid.Bool().Draw(t, "by instance") {
			instance := rapid.SampledFrom([]string{"i0", "i4", "i5"}).Draw(t, "instance")
			m.InstanceID = &instance
		}
		r.Members = append(r.Members, m)
	}
	c.step(who, Leave{Request: r})
}

func (c *crowd) describe(t *rapid.T) {
	c.step(nil, Describe{Group: "g", Version: int16(rapid.IntRange(0, 6).Draw(t, "version"))})
	c.step(nil, List{})
	c.step(nil, Count{})
}

func (c *crowd) delete(t *rapid.T) {
	c.step(nil, Delete{Group: rapid.SampledFrom([]string{"g", "h", "k"}).Draw(t, "group")})
}

func (c *crowd) commit(t *rapid.T) {
	who := c.who(t)
	r := commitOf(rapid.SampledFrom([]string{"g", "h", "k"}).Draw(t, "group"), "t", 0, 1)
	if rapid.Bool().Draw(t, "member") {
		r.MemberID, r.Generation = who.ID, c.generation(t, who)
	}
	c.step(who, Commit{Request: r})
}

func (c *crowd) wait(t *rapid.T) {
	c.advance(c.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 4 * time.Second, 9 * time.Second, time.Minute}).Draw(t, "for")))
}

func (c *crowd) restart(*rapid.T) { c.stage.restart() }
