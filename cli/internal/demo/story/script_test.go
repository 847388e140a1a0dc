package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// everywhere are the clusters on which it can be played.
var everywhere = map[string]Cluster{
	"a Skein broker of its own":  {Admits: true, Restart: true},
	"somebody's Skein":           {Admits: true},
	"Kafka":                      {},
	"a broker that is held back": {Restart: true},
}

// A place is free when a process starts in it, taken when it ends; who looks has something to look at; in the end all is as it was.
func TestTheScriptCanBePlayed(t *testing.T) {
	for name, cluster := range everywhere {
		taken := map[int]Code{}
		killed := 0
		for _, act := range Script(cluster) {
			at := fmt.Sprintf("%s: %q", name, act.Title)
			for i, step := range act.Steps {
				switch step.Do {
				case Start:
					if _, is := taken[step.Slot]; is {
						t.Errorf("%s starts a process in place %d, which is taken", at, step.Slot)
					}
					taken[step.Slot] = step.Code
				case Replace:
					taken[killed] = step.Code
				case Stop, Kill:
					if _, is := taken[step.Slot]; !is {
						t.Errorf("%s ends a process in place %d, where none is", at, step.Slot)
					}
					delete(taken, step.Slot)
					killed = step.Slot
				case KillLeader:
					killed = 1
					delete(taken, killed)
				case Show:
					if act.Steps[i-1].Do != Settle {
						t.Errorf("%s shows what has not settled", at)
					}
				case Settle, Restart:
				}
				if kills := step.Do == Kill || step.Do == KillLeader || step.Do == Restart; kills && act.Clean {
					t.Errorf("%s is called clean", at)
				}
			}
			if last := act.Steps[len(act.Steps)-1]; last.Do != Show || act.Assignor == "" {
				t.Errorf("%s does not end with something to see", at)
			}
		}
		if want := map[int]Code{1: Old, 2: Old, 3: Old}; fmt.Sprint(taken) != fmt.Sprint(want) {
			t.Errorf("%s: it ends with %v", name, taken)
		}
	}
}

// R-C14, R-C15, R-C21: the way back is one bounce where the broker admits old members, else it goes over [range, cooperative-sticky].
func TestTheWayBackDependsOnTheBroker(t *testing.T) {
	for name, cluster := range everywhere {
		var titles []string
		for _, act := range Script(cluster) {
			titles = append(titles, act.Title)
		}
		over := slices.Contains(titles, "a bounce to [range, cooperative-sticky]")
		one := slices.Contains(titles, "one rolling bounce back to the old code")
		restarts := slices.Contains(titles, "the broker starts again")
		if over == cluster.Admits || one != cluster.Admits || restarts != cluster.Restart {
			t.Errorf("%s: %s", name, strings.Join(titles, "; "))
		}
	}
}

func TestWhatEachCodeOffers(t *testing.T) {
	for code, want := range map[Code]string{Old: "old [range]", New: "new [cooperative-sticky range]", Between: "mid [range cooperative-sticky]"} {
		if got := fmt.Sprint(code, " ", code.Offers()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
