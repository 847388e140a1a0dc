// Package cli is the skein command: one file a verb.
//
// It stands at the two ends of the journey: `skein serve` runs the broker, and
// every other verb is a client of any Kafka cluster, ours or not, through the
// connection block of cli/internal/connect. Nothing here is global: the
// command tree is built from an Env, so that a test runs it like a shell does.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
)

// Env is the world as a command sees it.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(name string) string
	Environ        func() []string // NAME=value, for settings of the broker
	Now            func() time.Time

	moment time.Duration // for which completion waits for a cluster; 0: two seconds
	pause  time.Duration // after which what seems to hang is looked at again; 0: a second
}

// System is the real world.
func System() Env {
	return Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Now: time.Now}
}

// Run runs one command line, without the program's name, and returns the exit
// code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Cancelling ctx
// interrupts the command; it then ends as soon as it can do so cleanly.
func Run(ctx context.Context, env Env, args []string) int {
	a := &app{env: env}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	a.adoptCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return problem.ExitOK
	}
	err = a.asProblem(cmd, err)
	a.report(err)
	return problem.ExitCode(err)
}

// app is what the verbs share: the world, and the global flags.
type app struct {
	env      Env
	json     bool
	progress bool
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "skein",
		Short: "A Kafka-compatible broker, and a client for any Kafka cluster",
		Long: `Skein is a Kafka-compatible event streaming broker in one program, and a
command line for it and for any other Kafka cluster.

A first minute:

  skein serve                                  start a broker (another terminal for the rest)
  skein topic create greetings
  echo "hello, world" | skein produce greetings
  skein consume greetings --exit-at-end

And a group of consumers that does not stop, on a broker of its own:

  skein demo upgrade`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          a.helpOrUnknown,
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print JSON for programs instead of text for people")
	flags.BoolVar(&a.progress, "progress", false, "show progress on standard error even when it is not a terminal")
	flags.BoolP("help", "h", false, "show help")
	tag(flags, groupGlobal)
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetVersionTemplate("skein {{.Version}}\n")
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newServe(a), newTopic(a), newProduce(a), newConsume(a), newGroup(a), newTxn(a), newAssign(a), newDemo(a), newLog(a), newSettings(a), newVersion(a))
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Help about any command", Hidden: true, RunE: helpFor})
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}

// adoptCompletion has cobra's own command, which prints to where root does by
// then, refuse shells that it does not know.
func (a *app) adoptCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = cobra.ArbitraryArgs, a.helpOrUnknown
	}
}

func helpFor(cmd *cobra.Command, args []string) error {
	target, _, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	return target.Help()
}

// helpOrUnknown runs commands that only hold others: help when bare, else the
// argument is a verb that does not exist.
func (a *app) helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := problem.DidYouMean(args[0], names)
	if hint == "" {
		hint = "there are: " + strings.Join(names, ", ")
	}
	return problem.Usage(hint, "%s has no command %q", cmd.CommandPath(), args[0])
}

// flagError says which flag was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := "see `" + cmd.CommandPath() + " --help`"
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if near := problem.DidYouMean("--"+e.GetSpecifiedName(), names); near != "" {
			hint = near
		}
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return problem.Usage(hint, "--%s: %q is %s", e.GetFlag().Name, e.GetValue(), notOfType(e.GetFlag().Value.Type(), e))
	}
	return problem.Usage(hint, "%w", err)
}

// notOfType says what a flag's value is not.
func notOfType(kind string, err error) string {
	switch {
	case kind == "bool":
		return "neither true nor false"
	case kind == "duration":
		return "not a duration such as 30s or 1m30s"
	case errors.Is(err, strconv.ErrRange):
		return "out of range"
	case strings.HasSuffix(kind, "Slice"):
		return "not a list of whole numbers"
	case strings.HasPrefix(kind, "int"):
		return "not a whole number"
	}
	return "not allowed: " + errors.Unwrap(err).Error()
}

// asProblem gives errors that cobra made itself the exit code of wrong usage.
func (a *app) asProblem(cmd *cobra.Command, err error) error {
	if _, ok := errors.AsType[*problem.Error](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	if text := err.Error(); strings.HasPrefix(text, "required flag") || strings.HasPrefix(text, "unknown command") || strings.HasPrefix(text, "if any flags") {
		return problem.Usage("see `"+cmd.CommandPath()+" --help`", "%w", err)
	}
	return err
}

// report prints a failure, once, on standard error. An interrupt needs no
// words: whoever pressed the keys knows.
func (a *app) report(err error) {
	if problem.ExitCode(err) == problem.ExitInterrupted {
		return
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			a.report(one)
		}
		return
	}
	hint := problem.Hint(err)
	if a.json {
		a.encode(a.env.Stderr, struct {
			Error string `json:"error"`
			Hint  string `json:"hint,omitempty"`
		}{err.Error(), hint})
		return
	}
	fmt.Fprintf(a.notices(), "skein: %v\n", err)
	if hint != "" {
		fmt.Fprintf(a.notices(), "  %s\n", strings.ReplaceAll(hint, "\n", "\n  "))
	}
}

// connect opens the client of a verb.
func (a *app) connect(ctx context.Context, flags *connect.Flags, more ...kgo.Opt) (*connect.Client, error) {
	options, err := flags.Resolve(a.env.Getenv)
	if err != nil {
		return nil, err
	}
	return connect.Open(ctx, options, a.env.Stderr, more...)
}

// notices is standard error, for people.
func (a *app) notices() io.Writer { return visibleLines{a.env.Stderr} }

// print writes a result: as JSON when asked to, else as text writes it.
func (a *app) print(result any, text func(w io.Writer)) error {
	if a.json {
		return a.encode(a.env.Stdout, result)
	}
	var b bytes.Buffer // so that nothing is lost silently: not every writer of text looks at errors
	text(visibleLines{&b})
	if _, err := a.env.Stdout.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

func (a *app) encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// encodeLine writes v as one line of JSON, for outputs that are streams.
func (a *app) encodeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			result := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return a.print(result, func(w io.Writer) {
				fmt.Fprintf(w, "skein %s (%s, %s/%s)\n", result.Version, result.Go, result.OS, result.Arch)
			})
		},
	}
}

// version is the module version that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
