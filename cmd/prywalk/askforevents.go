// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"prywalk/internal/perfevents"
)

// newAskForEvents is the command that prywalk starts to see whether a filter kills who asks for perf events.
func newAskForEvents() *cobra.Command {
	return &cobra.Command{
		Use:    "ask-for-events",
		Hidden: true,
		Args:   noArgs,
		Run:    func(*cobra.Command, []string) { perfevents.Ask() },
	}
}

// survivable reports whether prywalk may ask for perf events, and live.
func survivable() error {
	return perfevents.Survivable(func(ctx context.Context) *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		return exec.CommandContext(ctx, self, "ask-for-events")
	})
}
