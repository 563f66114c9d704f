package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const usage = `usage:
  monitoring record -o <file> [-every 2s] <job>=<host:port> ...   until interrupted
  monitoring compute -dashboard <file> -recording <file>          prints JSON`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	output := flags.String("o", "", "file to write the recording to")
	every := flags.Duration("every", 2*time.Second, "time between two scrapes")
	board := flags.String("dashboard", "", "dashboard to compute")
	recorded := flags.String("recording", "", "recording to compute it over")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "record":
		r := recorder{every: *every}
		for _, arg := range flags.Args() {
			job, address, ok := strings.Cut(arg, "=")
			if !ok {
				return fmt.Errorf("%q is not <job>=<host:port>", arg)
			}
			r.targets = append(r.targets, scraped{job: job, address: address})
		}
		return r.record(ctx, *output)
	case "compute":
		return compute(ctx, *board, *recorded, os.Stdout)
	}
	return fmt.Errorf("unknown command %q\n%s", args[0], usage)
}
