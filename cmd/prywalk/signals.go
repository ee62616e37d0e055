package main

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// signals gives a context that the first Ctrl-C or SIGTERM ends; a second one ends
// prywalk at once. SIGUSR1 writes a checkpoint.
func (r *recording) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1)
	go func() {
		ending := false
		for sig := range ch {
			switch {
			case sig == unix.SIGUSR1:
				if s := r.sampler; s != nil && r.path != "-" {
					s.CheckpointNow()
				}
			case ending:
				os.Exit(128 + int(sig.(unix.Signal)))
			default:
				ending = true
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(ch)
		cancel()
	}
}
