package cli

import (
	"github.com/spf13/cobra"
)

func newLog(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Look at and repair log files on this machine's disk",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.helpOrUnknown,
	}
	cmd.AddCommand(newLogDump(a), newLogRepair(a))
	return cmd
}
