// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long: `  prywalk version

Prints which prywalk this is, and what it was built with.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		},
	}
}

// built is set by the Makefile (git describe).
var built string

func version() string {
	return fmt.Sprintf("prywalk %s (%s, %s/%s)", release(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func release() string {
	stamped := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		stamped = info.Main.Version
	}
	return cmp.Or(built, stamped, "of an unknown version (built without git; make build sets it)")
}
