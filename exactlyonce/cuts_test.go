//go:build synctests

package exactlyonce_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/internal/fleet"
)

// Members with a producer for each partition are cut off from everybody, for a moment or until they are taken for dead, and come back as zombies
// that know of nothing, again and again: on a broker on which nothing but their transactional ids fences them, in mixed fleets, and where
// generations do, too. Whatever they do is done once.
func TestMembersThatAreCutOff(t *testing.T) {
	perPartition, perMember := ours(exactlyonce.OnePerPartition, ""), ours(exactlyonce.OnePerMember, "")
	for _, c := range []struct {
		what, release string
		fleet         []func(fleet.Job) fleet.Program
	}{
		{"old broker", "2.4", []func(fleet.Job) fleet.Program{ours(exactlyonce.OnePerPartition, "2.4"), ours(exactlyonce.OnePerPartition, "2.4"), ours(exactlyonce.OnePerPartition, "2.4")}},
		{"the second step", "", []func(fleet.Job) fleet.Program{perPartition, perMember, perPartition}},
		{"broker of 3.9", "3.9", []func(fleet.Job) fleet.Program{perPartition, perPartition, perMember}},
	} {
		for seed := range seeds(2) {
			t.Run(fmt.Sprint(c.what, " ", seed), func(t *testing.T) {
				inTown(t, c.release, 4, func(w *town) {
					w.job.Transaction = 20 * time.Second
					var members []*member
					for _, program := range c.fleet {
						members = append(members, w.runs(program(w.job)))
					}
					w.cuts(members, rand.New(rand.NewPCG(seed, 447)))
					pass(time.Minute)
					for _, m := range members {
						m.ends()
					}
					w.judges(always)
				})
			})
		}
	}
}

// seeds is how many lives are lived; SKEIN_SIM_SEEDS is the long form.
func seeds(usual uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("SKEIN_SIM_SEEDS"), 10, 64); err == nil {
		return n
	}
	return usual
}

// cuts cuts and mends lines at random, under load, inside a bubble.
func (w *town) cuts(members []*member, random *rand.Rand) {
	for range 25 {
		m := members[random.IntN(len(members))]
		if random.IntN(2) == 0 {
			m.line.Cut()
		} else {
			m.line.Mend()
		}
		w.writes(1 + random.IntN(3))
		pass(time.Duration(random.IntN(8000)) * time.Millisecond)
	}
	for _, m := range members {
		m.line.Mend()
	}
}
