// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"prywalk/internal/host/safeopen"
)

// selfFile starts this very program, also after its file was replaced. The kernel names such a process exe.
const selfFile = "/proc/self/exe"

// selfPath is for a process whose name is shown.
func selfPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find prywalk's own file to start the workload: %w", err)
	}
	return path, nil
}

const copyFD = 3

// newCopyFile copies in a process of its own, as a FUSE file system may not answer.
func newCopyFile() *cobra.Command {
	return &cobra.Command{
		Use:    "copy-file",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			return safeopen.Copy(os.Stdin, os.NewFile(copyFD, "copy"), os.Stdout)
		},
	}
}
