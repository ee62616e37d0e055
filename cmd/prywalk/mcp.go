// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"prywalk/internal/command/mcpserver"
)

func newMCP() *cobra.Command {
	o := mcpserver.Tools{Run: runSelf, Processes: processes}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve the commands as tools of the Model Context Protocol",
		Long:  helpPage("mcp"),
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			err := checkDirectory("dir", o.Dir, "give the directory of the recordings")
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = mcpserver.New(version(), o).Run(ctx, &mcp.StdioTransport{})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if _, ofOutput := errors.AsType[*os.PathError](err); err != nil && !ofOutput {
				err = fmt.Errorf("reading messages: %w; give messages of the Model Context Protocol, one a line", err)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", ".", "directory of the recordings")
	cmd.Flags().BoolVar(&o.AllowRecord, "allow-record", false,
		"offer a tool that samples a process and writes a recording")
	return cmd
}

// runSelf runs this program with files as its descriptors from 3 on. The end of ctx sends SIGTERM, so that a recording
// is written. The error is of the start.
func runSelf(ctx context.Context, files []*os.File, args ...string) (string, int, error) {
	cmd := exec.CommandContext(ctx, selfFile, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.ExtraFiles = files
	var out boundedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", 0, err
	}
	return string(out), cmd.ProcessState.ExitCode(), nil
}

type boundedBuffer []byte

// Write never fails, since a failure would close the pipe and end the command.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	const most = 1 << 20
	*b = append(*b, p[:min(len(p), most-len(*b))]...)
	return len(p), nil
}
