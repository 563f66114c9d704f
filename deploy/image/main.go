package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "image: "+err.Error())
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	root      string // folder of the product's module
	version   string // of the programs, and the image's tag
	name      string // of the image, without a tag
	platforms []string
	created   time.Time // of the image and of every file in it
	out       string    // the archive
}

// tag is the form of a tag in a registry; the linker gets it as well.
var tag = regexp.MustCompile(`^\w[\w.-]{0,127}$`)

// parse reads the command line. The error says what is wrong with it.
func parse(args []string) (options, error) {
	var o options
	var platforms string
	var epoch int64
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", ".", "folder of Lifeboat's sources")
	flags.StringVar(&o.version, "version", "unknown", "version of the programs, and tag of the image")
	flags.StringVar(&o.name, "name", "lifeboat", "name of the image")
	flags.StringVar(&platforms, "platforms", "linux/amd64", "platforms, separated by commas")
	flags.Int64Var(&epoch, "created", 0, "when it was made, in seconds since 1970")
	flags.StringVar(&o.out, "out", "lifeboat.tar", "OCI archive to write")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !tag.MatchString(o.version) {
		return options{}, fmt.Errorf("version %q: want what a tag may be", o.version)
	}
	o.platforms = strings.Split(platforms, ",")
	o.created = time.Unix(epoch, 0).UTC()
	return o, nil
}

// run builds one image and prints its name and digest.
func run(ctx context.Context, args []string, w io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	digest, err := build(ctx, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s:%s@%s (%s)\n", o.out, o.name, o.version, digest, strings.Join(o.platforms, ", "))
	return err
}
