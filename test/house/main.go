package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	root := flag.String("root", "..", "the root of the project")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *root, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, root, command string) error {
	switch command {
	case "weigh":
		files, err := readTree(root)
		if err == nil {
			weigh(w, files)
		}
		return err
	case "stops":
		return stops(ctx, w, root)
	}
	return errors.New("usage: house [-root FOLDER] weigh|stops")
}
