// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/spf13/cobra"

	"prywalk/internal/stranger"
)

// copyTo is the descriptor that the file is copied to: the first after the standard ones.
const copyTo = 3

// newCopyFile is the command that prywalk starts for files on FUSE file systems.
func newCopyFile() *cobra.Command {
	return &cobra.Command{
		Use:    "copy-file",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			return stranger.Copy(os.Stdin, os.NewFile(copyTo, "copy"), os.Stdout)
		},
	}
}
