// SPDX-License-Identifier: Apache-2.0

// Package command is the common part of the measuring commands.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program in the repository's top directory. Ctrl-C and SIGTERM end its context.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := AtRoot()
	if err == nil {
		err = run(ctx, os.Args[1:])
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
