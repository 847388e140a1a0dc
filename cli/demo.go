package cli

import "github.com/spf13/cobra"

func newDemo(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See what Skein does, on a broker that comes and goes with the command",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.helpOrUnknown,
	}
	cmd.AddCommand(newDemoUpgrade(a))
	return cmd
}
