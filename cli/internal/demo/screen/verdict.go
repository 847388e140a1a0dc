package screen

import (
	"fmt"
	"io"
	"time"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/internal/ownership"
)

// Verdict writes what the play has come to.
func Verdict(w io.Writer, v ownership.Verdict, style Style) {
	fmt.Fprintln(w, style.dim(fmt.Sprintf("%-46s %6s %8s %9s %6s", "ACT", "GENS", "STOPPED", "LONGEST", "AGAIN")))
	for _, p := range v.Phases {
		fmt.Fprintf(w, "%-46s %6d %8s %9s %6d\n", p.Name, p.Generations, fmt.Sprintf("%d/%d", p.Stopped, story.Partitions), seconds(p.Longest), p.Duplicates)
	}
	fmt.Fprintln(w, "\n"+style.dim(fmt.Sprintf("%9s %8s %6s %9s %9s %9s %6s %8s %6s", "PARTITION", "RECORDS", "STOPS", "STOPPED", "LONGEST", "PAUSE", "AGAIN", "OVERLAPS", "LOST")))
	for _, p := range v.Partitions {
		fmt.Fprintf(w, "%9d %8d %6d %9s %9s %9s %6d %8d %6d\n", p.ID, p.Records, p.Stops, seconds(p.Stopped), seconds(p.Longest), seconds(p.Pause), p.Duplicates, p.Overlaps, p.Lost)
	}
	fmt.Fprint(w, "\n"+notes)
	fmt.Fprintln(w)
	for _, wrong := range v.Wrongs[:min(len(v.Wrongs), 10)] {
		fmt.Fprintf(w, "WRONG: %s\n", wrong)
	}
	if n := len(v.Wrongs); n > 10 {
		fmt.Fprintf(w, "WRONG: and %d more\n", n-10)
	}
	fmt.Fprintln(w, style.bold(Sentence(v)))
}

// notes say what the numbers mean, and what they do not.
const notes = `GENS: generations that began. STOPPED: how many partitions lost their owner, or
changed it; a stop lasts from the last record before to the first one after.
PAUSE: the longest wait for a record while the owner stayed. AGAIN: records
handled twice; only who is killed may leave some, those since its last commit.
The old members are Skein's consumer held to what Kafka's own do by default up
to 2.8: one protocol for life, and [range].
`

// Sentence is the verdict in short.
func Sentence(v ownership.Verdict) string {
	head := "VERDICT: good"
	if !v.Good() {
		head = "VERDICT: BAD"
	}
	clean := int64(0)
	for _, p := range v.Phases {
		if p.Clean {
			clean += p.Duplicates
		}
	}
	return fmt.Sprintf("%s. %d records in %d generations.\nHandled twice in clean acts: %d, after kills: %d. Two owners: %d. Lost: %d.",
		head, v.Records, v.Generations, clean, v.Duplicates-clean, v.Overlaps, v.Lost)
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
