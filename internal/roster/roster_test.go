package roster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// said is what members say: "a(b c/d)" publishes a, knows b and c, and was told that d is missed; "(b)" publishes nothing, "-" says nothing.
func said(text string) (notices []Notice) {
	for _, word := range strings.Split(text, "; ") {
		own, known, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
		var n Notice
		if own != "" && own != "-" {
			n.Own = []byte(own)
		}
		known, missed, _ := strings.Cut(known, "/")
		n.Known, n.Missed = list(strings.Fields(known)...), list(strings.Fields(missed)...)
		notices = append(notices, n)
	}
	return notices
}

func words(list [][]byte) string {
	var out []string
	for _, b := range list {
		out = append(out, string(b))
	}
	return strings.Join(out, " ")
}

func TestWhoIsMissing(t *testing.T) {
	for _, c := range []struct{ members, present, missing string }{
		{"a(b c); b(a c); c(a b)", "a b c", ""},
		{"a(b c); b(a c)", "a b", "c"},
		{"b(a c)", "b", "a c"},        // the leader is gone, and what it was is known
		{"d; b(a c)", "b d", "a c"},   // and one who has only just come leads
		{"-; b(a); (c)", "b", "a c"},  // beside others that say nothing, or publish nothing any more
		{"a(b); b", "a b", ""},        // it came back, under another member id
		{"b(a c); c; a", "a b c", ""}, // a list from long ago
		{"a; a(a)", "a", ""},          // two with one name
		{"-; -", "", ""},              // nobody
		{"b(a a); c(a)", "b c", "a"},  // each is missed once
		{"c(b); b(a)", "b c", "a"},    // in order, whatever the order of the members
		{"a(/c); b", "a b", "c"},      // the leader before has missed it
		{"a(c/c d); b(d)", "a b", "c d"},
		{"a(/b); b", "a b", ""}, // and it is back
		{"a(b c d e f g h i j k)", "a", "b c d e f g h i j k"},
	} {
		r := Of(7, said(c.members))
		if r.Generation != 7 || words(r.Present) != c.present || words(r.Missing) != c.missing {
			t.Errorf("%s: present %q, missing %q; want %q, %q", c.members, words(r.Present), words(r.Missing), c.present, c.missing)
		}
	}
}

func TestWhoIsTold(t *testing.T) {
	for _, c := range []struct{ members, told string }{
		{"a; b; c", "b c|c a|a b"},
		{"a; -; b(x)", "b/x|-|a/x"},
		{"a(b)", "/b"},       // alone: it forgets, but for who has gone just now
		{"a; a; b", "b|b|a"}, // not itself
		{"a(b c); b(a c); -", "b/c|a/c|-"},
		{"a(c d)", "/c d"},
		{"a(/c); b(/c)", "b|a"}, // it was missed twice: that is enough
		{"a(c/c); b(/c)", "b/c|a/c"},
	} {
		if told := telling(Deal(said(c.members))); told != c.told {
			t.Errorf("%s: %s, want %s", c.members, told, c.told)
		}
	}
}

func telling(told []*Notice) string {
	var out []string
	for _, n := range told {
		if n == nil {
			out = append(out, "-")
			continue
		}
		said := words(n.Known)
		if len(n.Missed) > 0 {
			said += "/" + words(n.Missed)
		}
		out = append(out, said)
	}
	return strings.Join(out, "|")
}

// In a group of any size each is known to Holders others, and nobody has to know more than as many.
func TestHolders(t *testing.T) {
	for _, size := range []int{1, 2, Holders, Holders + 1, Holders + 2, 100} {
		var members []Notice
		for i := range size {
			members = append(members, Notice{Own: fmt.Appendf(nil, "%03d", i)})
		}
		holders := map[string]int{}
		for i, n := range Deal(members) {
			if len(n.Known) > Holders {
				t.Errorf("of %d one is told of %d", size, len(n.Known))
			}
			for _, k := range n.Known {
				if string(k) == string(members[i].Own) {
					t.Errorf("%s is told of itself", k)
				}
				holders[string(k)]++
			}
		}
		for id, n := range holders {
			if n != min(Holders, size-1) {
				t.Errorf("of %d, %d know %s", size, n, id)
			}
		}
	}
}

// TestLives lives through groups of members that come, die, are expelled and come back, with leaders of all kinds: whoever is in a round is
// never missed in it; and after a round that has reached all, up to Holders who die at once, the leader with them, are missed by whoever leads
// next, even by one that has only just come, and once more by the next one, of whoever has heard of that.
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := life{T: t, known: map[string]Notice{}}
		for range rapid.IntRange(1, 30).Draw(t, "members") {
			g.comes()
		}
		var again []string
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			g.round(again)
			g.deals()
			dead := g.dies(rapid.IntRange(0, min(Holders, len(g.in)-1)).Draw(t, "deaths"))
			if rapid.Bool().Draw(t, "newcomer") {
				g.comes()
			}
			g.round(dead)
			again = nil
			switch rapid.SampledFrom([]string{"told", "foreign leader", "half told"}).Draw(t, "then") {
			case "told":
				if _, missing, _ := count(g.notices()); len(missing) <= Holders { // which each is told of
					again = dead
				}
				g.deals()
			case "half told":
				g.deals(rapid.IntRange(0, len(g.in)).Draw(t, "who")) // the round is broken off
			}
			g.returns(dead)
			again = slices.DeleteFunc(slices.Clone(again), func(id string) bool { return slices.Contains(g.in, id) })
		}
	})
}

// life is a group. Whoever is in it has a place in known.
type life struct {
	*rapid.T
	in    []string
	known map[string]Notice // without what they publish
	last  int
}

func (g *life) comes() {
	g.last++
	g.in = append(g.in, fmt.Sprintf("m%d", g.last))
}

func (g *life) dies(n int) (dead []string) {
	for range n {
		at := rapid.IntRange(0, len(g.in)-1).Draw(g.T, "who")
		dead = append(dead, g.in[at])
		g.in = slices.Delete(g.in, at, at+1)
	}
	return dead
}

// returns has some come back that were only thought to be dead, with what they knew.
func (g *life) returns(dead []string) {
	for _, id := range dead {
		if rapid.IntRange(0, 3).Draw(g.T, "returns") == 0 {
			g.in = append(g.in, id)
		}
	}
}

func (g *life) notices() (list []Notice) {
	for _, id := range g.in {
		_, n, found := Split(Notice{[]byte(id), g.known[id].Known, g.known[id].Missed}.Append([]byte{0, 0, 0, 1}))
		if !found {
			g.Fatalf("%s cannot be read", id)
		}
		list = append(list, n)
	}
	return list
}

func (g *life) round(dead []string) {
	r := Of(0, g.notices())
	for _, id := range g.in {
		if contains(r.Missing, []byte(id)) || !contains(r.Present, []byte(id)) {
			g.Fatalf("%s is in the round, and is missed in %q", id, words(r.Missing))
		}
	}
	for _, id := range dead {
		if !contains(r.Missing, []byte(id)) {
			g.Fatalf("%s is dead, and only %q are missed", id, words(r.Missing))
		}
	}
}

// deals tells all, or but some, what a leader of ours has to say.
func (g *life) deals(but ...int) {
	told := Deal(g.notices())
	for i, id := range g.in {
		if len(but) == 0 || i < but[0] {
			g.known[id] = *told[i]
		}
	}
}
