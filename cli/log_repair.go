package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/cli/internal/problem"
)

// repairedLog is one partition's log for programs, or what all partitions share when something is wrong with it.
type repairedLog struct {
	Partition   string        `json:"partition"`
	Segments    int           `json:"segments"`
	Bytes       int64         `json:"bytes"`
	Batches     int64         `json:"batches"`
	StartOffset int64         `json:"start_offset"`
	EndOffset   int64         `json:"end_offset"`
	Damage      []damagedRun  `json:"damage,omitempty"`
	State       repairedState `json:"state"`
	Notes       []string      `json:"notes,omitempty"`
	Error       string        `json:"error,omitempty"`
}

// store says that it is what all partitions share: without it the broker does not start.
func (l repairedLog) store() bool {
	return l.Partition == broker.WriteAheadLog || l.Partition == broker.Catalog || l.Partition == broker.Checkpoints
}

// repairedState is what becomes of a log.
type repairedState string

const (
	logSound    repairedState = "sound"
	logTorn     repairedState = "torn"     // the next start deals with it
	logDamaged  repairedState = "damaged"  // needs a repair
	logOffline  repairedState = "offline"  // is not served before it has had one
	logRepaired repairedState = "repaired" // has had it
	logFailed   repairedState = "failed"   // could not be read or repaired
)

type damagedRun struct {
	File        string `json:"file"`
	Position    int64  `json:"position"`
	Bytes       int64  `json:"bytes"`
	FirstOffset int64  `json:"first_offset"`
	NextOffset  int64  `json:"next_offset"` // those from first_offset up to before this are lost
	Reason      string `json:"reason"`
}

func newLogRepair(a *app) *cobra.Command {
	var dir string
	var apply bool
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Find damage in the logs of a stopped broker, and repair it with --apply",
		Long: `Read every log in the data directory of a broker that is not running, the catalog
and the write-ahead log too, and tell what is damaged. Nothing is changed without
--apply.

Records that were on disk and cannot be read any more are never cut silently: a
broker that finds them takes the partition offline. --apply makes such logs whole
again without the damaged bytes: every batch that can be read stays, at its offsets,
and what the write-ahead log still has of the others is put back. The damaged
segment is kept beside the repaired one, as ….log.damaged. The torn end that a crash
leaves is no damage of that kind: the next start cuts it.

With a damaged catalog or write-ahead log the broker does not start. --apply saves a
copy of the damaged file beside it, as ….damaged, and keeps everything in it that can
be read, before the damage and behind it. Topics that a damaged catalog has lost are
made known again from their directories; their settings are lost, so that they get
some under which nothing of them is deleted.

It exits with 1 while there is damage that needs --apply.`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&dir, "data", "", "`DIR` data directory of the broker (default "+defaultData+")")
	cmd.Flags().BoolVar(&apply, "apply", false, "repair what is damaged")
	_ = cmd.MarkFlagDirname("data")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.repairLogs(cmd.Context(), cmp.Or(dir, a.env.Getenv("SKEIN_DATA"), defaultData), apply)
	}
	return cmd
}

func (a *app) repairLogs(ctx context.Context, dir string, apply bool) error {
	examine := broker.CheckLogs
	if apply {
		examine = broker.RepairLogs
	}
	logs := []repairedLog{}
	if err := examine(ctx, dir, func(r broker.LogReport) { logs = append(logs, newRepairedLog(r)) }); err != nil {
		return repairProblem(ctx, err)
	}
	if err := a.print(logs, func(w io.Writer) { repairText(w, logs) }); err != nil {
		return err
	}
	return remaining(logs, apply)
}

func repairProblem(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, broker.ErrInUse):
		return &problem.Error{What: err.Error(), Hint: "a running broker repairs nothing: stop it, then look again", Err: err}
	case errors.Is(err, fs.ErrNotExist):
		return &problem.Error{What: err.Error(), Hint: "name the directory that `skein serve` was given with --data", Err: err}
	}
	return err
}

func newRepairedLog(r broker.LogReport) repairedLog {
	out := repairedLog{
		Partition: r.Partition, Segments: r.Segments, Bytes: r.Bytes, Batches: r.Batches,
		StartOffset: r.StartOffset, EndOffset: r.EndOffset, State: stateOf(r), Notes: r.Notes,
	}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	for _, d := range r.Damage {
		out.Damage = append(out.Damage, damagedRun(d))
	}
	return out
}

func stateOf(r broker.LogReport) repairedState {
	switch {
	case r.Err != nil:
		return logFailed
	case r.Repaired:
		return logRepaired
	case r.Offline:
		return logOffline
	case r.Lost:
		return logDamaged
	case len(r.Damage) > 0:
		return logTorn
	}
	return logSound
}

// remaining is the error of what is still wrong.
func remaining(logs []repairedLog, applied bool) error {
	damaged, failed := 0, 0
	for _, l := range logs {
		switch l.State {
		case logOffline, logDamaged:
			damaged++
		case logFailed:
			failed++
		}
	}
	switch {
	case failed > 0:
		return problem.New("its line above says why", "%s could not be examined or repaired", count(failed, "log"))
	case damaged > 0 && applied:
		return problem.New("what a later version of Skein has written is left alone, and takes that version; of anything else the lines above say why", "%s still damaged", count(damaged, "log")+isAre(damaged))
	case damaged > 0:
		return problem.New("--apply repairs what is damaged and keeps the original beside it", "%s damaged", count(damaged, "log")+isAre(damaged))
	}
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// repairText prints the logs that are not sound, and how many are.
func repairText(w io.Writer, logs []repairedLog) {
	partitions, sound := 0, 0
	for _, l := range logs {
		if !l.store() {
			partitions++
		}
		if l.State == logSound && len(l.Notes) == 0 {
			sound++
			continue
		}
		fmt.Fprintf(w, "%s: %s%s\n", l.Partition, l.words(), l.Error)
		for _, d := range l.Damage {
			fmt.Fprintf(w, "  %s at byte %d: %s%s\n", d.File, d.Position, l.extent(d), d.Reason)
		}
		for _, note := range l.Notes {
			fmt.Fprintf(w, "  %s\n", note)
		}
	}
	fmt.Fprintf(w, "%s examined, %d sound\n", count(partitions, "log"), sound)
}

func (l repairedLog) words() string {
	switch l.State {
	case logSound:
		return "sound"
	case logTorn:
		return "the torn end that a crash leaves; the next start cuts it"
	case logRepaired:
		return "damaged; repaired"
	case logDamaged:
		return "damaged: records that were on disk cannot be read"
	case logOffline:
		if l.store() {
			return "damaged: the broker does not start"
		}
		return "damaged: records that were on disk cannot be read, and the broker does not serve it"
	}
	return "" // the error says it
}

// extent is how much is damaged, as far as anybody knows.
func (l repairedLog) extent(d damagedRun) string {
	switch {
	case !l.store():
		return count(d.Bytes, "byte") + ", " + d.lost() + ": "
	case d.Bytes < 0:
		return "up to its end: "
	case d.Bytes == 0:
		return ""
	}
	return count(d.Bytes, "byte") + ": "
}

func (d damagedRun) lost() string {
	switch lost := d.NextOffset - d.FirstOffset; {
	case lost <= 0:
		return fmt.Sprintf("from offset %d on", d.FirstOffset)
	case lost == 1:
		return fmt.Sprintf("offset %d", d.FirstOffset)
	default:
		return fmt.Sprintf("offsets %d to %d", d.FirstOffset, d.NextOffset-1)
	}
}
