package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/recordtext"
)

// targetFlags say where a group is to go on: exactly one of them.
type targetFlags struct {
	number, shift            int64
	moment, age, file        string
	earliest, latest, remain bool
}

func (t *targetFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&t.earliest, string(groups.ToEarliest), false, "go to the first offset of each partition")
	f.BoolVar(&t.latest, string(groups.ToLatest), false, "go to the end of each partition")
	f.BoolVar(&t.remain, string(groups.ToCurrent), false, "stay where it is; the end where nothing is committed")
	f.Int64Var(&t.number, string(groups.ToOffset), 0, "`OFFSET` go to this offset")
	f.Int64Var(&t.shift, string(groups.ShiftBy), 0, "`NUMBER` go forward by so many offsets, or back when it is negative")
	f.StringVar(&t.moment, string(groups.ToTime), "", "`TIME` go to the first record from this time on: 2026-11-30T12:00:00Z, or milliseconds since 1970")
	f.StringVar(&t.age, string(groups.ByDuration), "", "`DURATION` go to the first record that is not older: 90m, 1h30m, P7D, PT1H")
	f.StringVar(&t.file, string(groups.FromFile), "", "`FILE` with lines topic,partition,offset as --export writes them; - is standard input")
	_ = cmd.RegisterFlagCompletionFunc(string(groups.FromFile), completeFile)
}

// kinds lists the targets by the names of their flags.
func kinds() []groups.Kind {
	return []groups.Kind{
		groups.ToEarliest, groups.ToLatest, groups.ToCurrent, groups.ToOffset, groups.ShiftBy, groups.ToTime, groups.ByDuration, groups.FromFile,
	}
}

// target is what the command line asks for.
func (t *targetFlags) target(cmd *cobra.Command, a *app, group string) (groups.Target, error) {
	var given, all []string
	for _, k := range kinds() {
		all = append(all, "--"+string(k))
		if flag := cmd.Flag(string(k)); flag.Changed && flag.Value.String() != "false" {
			given = append(given, string(k))
		}
	}
	switch {
	case len(given) == 0:
		return groups.Target{}, problem.Usage("give one of "+strings.Join(all, ", "), "where to is the group %s to go?", group)
	case len(given) > 1:
		return groups.Target{}, problem.Usage("keep one of them", "--%s and --%s say both where to go", given[0], given[1])
	}
	out := groups.Target{Kind: groups.Kind(given[0])}
	return out, t.fill(&out, a, group)
}

func (t *targetFlags) fill(out *groups.Target, a *app, group string) (err error) {
	switch out.Kind {
	case groups.ToOffset:
		if out.Number = t.number; t.number < 0 {
			return problem.Usage("offsets begin at 0; --shift-by goes back", "--to-offset %d is not an offset", t.number)
		}
	case groups.ShiftBy:
		out.Number = t.shift
	case groups.ToTime:
		if out.Time, err = recordtext.ParseTime(strings.TrimPrefix(t.moment, "@")); err != nil {
			return problem.Usage("without a zone it is UTC", "--to-datetime: %w", err)
		}
	case groups.ByDuration:
		age, err := parseAge(t.age)
		if err != nil {
			return problem.Usage("write 90m, 1h30m, P7D or PT1H30M", "--by-duration: %w", err)
		}
		out.Time = a.env.Now().Add(-age)
	case groups.FromFile:
		out.Rows, err = a.readRows(t.file, group)
	}
	return err
}

func (a *app) readRows(name, group string) ([]groups.Row, error) {
	r := a.env.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, problem.Usage("", "cannot read the offsets: %w", err)
		}
		defer file.Close()
		r = file
	}
	rows, err := groups.ReadRows(r, group)
	if err != nil {
		return nil, problem.Usage(problem.Hint(err), "%s: %w", name, err)
	}
	return rows, nil
}

// parseAge reads a duration, ours (1h30m) or in the form of ISO 8601 that Kafka's tool takes (P1DT2H).
func parseAge(text string) (time.Duration, error) {
	iso, is := strings.CutPrefix(strings.ToUpper(text), "P")
	if !is {
		age, err := time.ParseDuration(text)
		if err != nil || age < 0 {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		return age, nil
	}
	days, clock, timed := strings.Cut(iso, "T")
	var age time.Duration
	if days != "" {
		number, isDays := strings.CutSuffix(days, "D")
		n, err := strconv.ParseInt(number, 10, 64)
		if !isDays || err != nil || n < 0 || n > mostDays {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		age = time.Duration(n) * 24 * time.Hour
	}
	if timed {
		part, err := time.ParseDuration(strings.ToLower(clock))
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		age += part
	}
	if age < 0 || iso == "" || timed && clock == "" {
		return 0, fmt.Errorf("%q is not a duration", text)
	}
	return age, nil
}

// mostDays is as many as a duration holds, with room for hours.
const mostDays = 50_000
