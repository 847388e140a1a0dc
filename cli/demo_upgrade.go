package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/demo/stage"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/internal/ownership"
)

func newDemoUpgrade(a *app) *cobra.Command {
	var cfg stage.Config
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "A consumer group goes from EAGER to COOPERATIVE and back, in one rolling bounce each",
		Long: `Watch a group of three members share twelve partitions, while records keep coming.
It begins with old code, whose assignor [range] is EAGER: whenever the group
changes, everything stops. Member after member is restarted with Skein's
default, [cooperative-sticky, range]; when the last is, the group turns
COOPERATIVE by itself. Then a member is killed, and the leader, the broker starts
again, and the group goes back to the old code. In the end there is a verdict:
how long each partition stood still, what was handled twice, whether two members
ever had the same partition, and whether anything was lost. A bad one is exit
code 1.

It needs no set-up: the broker is in the command, its data in a directory that
is removed. With --bootstrap (or --profile) the group lives on that cluster, in a
topic and a group of its own that are deleted at the end. A broker of Apache
Kafka's refuses old code in a COOPERATIVE group, so that there the way back is two
bounces: to [range, cooperative-sticky], and then to the old code.

The old members are Skein's consumer, too, held to what Kafka's own do by default
up to 2.8. On what is no terminal the same is told in lines, and with --json in
lines of JSON.`,
		Example: `skein demo upgrade
skein demo upgrade --pace 5s
skein demo upgrade --bootstrap kafka.example.com:9092
skein demo upgrade --pace 0s --json | jq -c 'select(.event == "verdict")'`,
		Args: noArgs,
	}
	f := cmd.Flags()
	f.DurationVar(&cfg.Pace, "pace", 2*time.Second, "`DURATION` how long to look at the group whenever it has settled")
	f.DurationVar(&cfg.Session, "session-timeout", 6*time.Second, "`DURATION` after how long a member that was killed is taken for dead; brokers have a minimum, 6s as a rule")
	flags := addConnection(cmd, a)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.demoUpgrade(cmd.Context(), cfg, flags)
	}
	return cmd
}

// demoUpgrade sets the stage and lets the play be seen.
func (a *app) demoUpgrade(ctx context.Context, cfg stage.Config, flags *connect.Flags) (err error) {
	switch {
	case cfg.Pace < 0:
		return problem.Usage("0s goes on at once", "--pace %v is less than nothing", cfg.Pace)
	case cfg.Session < time.Second:
		return problem.Usage("choose a second or more", "--session-timeout %v is too short", cfg.Session)
	}
	where, done, err := a.demoCluster(ctx, &cfg, flags)
	if err != nil {
		return err
	}
	defer done()
	cfg.Name = fmt.Sprintf("skein-demo-upgrade-%08x", rand.Uint32())
	show := a.newShow(where)
	cfg.Watch = show.see
	play, err := stage.Open(ctx, cfg)
	if err != nil {
		return err
	}
	verdict, err := show.play(ctx, play)
	if err = errors.Join(err, play.Close()); ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	return a.demoVerdict(verdict, show)
}

// demoCluster is where it is played: on a cluster that a flag names, else on a broker of its own.
func (a *app) demoCluster(ctx context.Context, cfg *stage.Config, flags *connect.Flags) (where string, done func(), err error) {
	set := flags.FlagSet()
	if !set.Changed("bootstrap") && !set.Changed("profile") {
		return "a broker of its own", func() {}, nil
	}
	cl, err := a.connect(ctx, flags)
	if err != nil {
		return "", nil, err
	}
	cluster := cl.Config()
	cfg.Cluster = &cluster
	return strings.Join(cluster.Brokers, ","), cl.Close, nil
}

// demoVerdict shows what it has come to.
func (a *app) demoVerdict(v ownership.Verdict, show *show) error {
	err := show.verdict(v)
	if err == nil && !v.Good() {
		err = problem.New("the verdict says which, after WRONG", "%s must not be as it is", count(len(v.Wrongs), "thing"))
	}
	return err
}
