package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Groups under which --help lists flags, in this order; flags without a group
// come first.
const (
	groupConnection = "Connection"
	groupSettings   = "Broker settings"
	groupGlobal     = "Global flags"

	groupKey  = "group"
	helpWidth = 110
)

// tag puts all flags of a set into a group of --help.
func tag(flags *pflag.FlagSet, group string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[groupKey] = []string{group}
	})
}

// usage prints the part of --help below the description.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		usageCommands(w, cmd)
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", indent(cmd.Example))
	}
	usageFlags(w, cmd)
	return nil
}

func usageCommands(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, "\nCommands:")
	column := 12
	for _, c := range cmd.Commands() {
		column = max(column, len(c.Name()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s %s\n", column, c.Name(), c.Short)
		}
	}
	fmt.Fprintf(w, "\nMore about one of them: %s COMMAND --help\n", cmd.CommandPath())
}

func usageFlags(w io.Writer, cmd *cobra.Command) {
	cmd.Flags().SortFlags = false // their order is meant
	for _, group := range []string{"", groupSettings, groupConnection, groupGlobal} {
		var flags []*pflag.Flag
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && groupOf(f) == group {
				flags = append(flags, f)
			}
		})
		if len(flags) == 0 {
			continue
		}
		heading := group
		if group == "" {
			heading = "Flags"
		}
		fmt.Fprintf(w, "\n%s:\n", heading)
		usageGroup(w, flags)
	}
}

// usageGroup prints flags in two columns.
func usageGroup(w io.Writer, flags []*pflag.Flag) {
	const widest = 36
	var column int
	for _, f := range flags {
		if n := utf8.RuneCountInString(flagText(f)); n <= widest {
			column = max(column, n+2)
		}
	}
	for _, f := range flags {
		left := flagText(f)
		gap := "\n" + strings.Repeat(" ", column)
		if n := utf8.RuneCountInString(left); n < column {
			gap = strings.Repeat(" ", column-n)
		}
		fmt.Fprintf(w, "%s%s%s\n", left, gap, wrap(flagHelp(f), helpWidth-column, column))
	}
}

// flagText is a flag with its placeholder, which stands in backquotes at the
// start of its help.
func flagText(f *pflag.Flag) string {
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	if placeholder, _ := placeholder(f); placeholder != "" {
		left += " " + placeholder
	}
	return left
}

func placeholder(f *pflag.Flag) (name, help string) {
	rest, ok := strings.CutPrefix(f.Usage, "`")
	if !ok {
		return "", f.Usage
	}
	name, help, _ = strings.Cut(rest, "`")
	return name, strings.TrimPrefix(help, " ")
}

// flagHelp is a flag's help with its default, unless that says nothing.
func flagHelp(f *pflag.Flag) string {
	_, help := placeholder(f)
	switch f.DefValue {
	case "", "false", "[]", "0", "0s", "-1":
		return help
	}
	return help + " (default " + f.DefValue + ")"
}

// wrap breaks text at blanks so that lines have at most width runes, and
// indents the lines after the first.
func wrap(text string, width, indent int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

func groupOf(f *pflag.Flag) string {
	if g := f.Annotations[groupKey]; len(g) > 0 {
		return g[0]
	}
	if f.Name == "version" || f.Name == "help" {
		return groupGlobal
	}
	return ""
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n  ")
}

// noArgs, someArgs and oneArg check the number of arguments in words.

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return problem.Usage("see `"+cmd.CommandPath()+" --help`", "%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func someArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return problem.Usage("usage: "+cmd.UseLine(), "%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return problem.Usage("usage: "+cmd.UseLine(), "%s needs %s, and nothing else", cmd.CommandPath(), what)
		}
		return nil
	}
}
