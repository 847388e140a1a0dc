// Command skein is a Kafka-compatible broker and a client for any Kafka
// cluster. All it does is to hand the process to package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/skeinstream/skein/cli"
)

func main() {
	ctx, interrupt := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		interrupt() // the command ends cleanly …
		<-signals
		os.Exit(130) // … unless somebody is in a hurry
	}()
	os.Exit(cli.Run(ctx, cli.System(), os.Args[1:]))
}
