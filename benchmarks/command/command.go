// Package command is what the measuring programs have in common as commands.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Main runs a program with its arguments until it ends, or Ctrl-C or SIGTERM end its
// context, and exits with 1 if it failed.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Build compiles prywalk from this checkout into a file.
func Build(ctx context.Context, binary string) error {
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "prywalk/cmd/prywalk").CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build prywalk: %w: %s", err, out)
	}
	return nil
}
