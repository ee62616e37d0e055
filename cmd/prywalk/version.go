// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	if info, ok := debug.ReadBuildInfo(); ok && built == "" {
		return buildStamp(info)
	}
	return built
}

func buildStamp(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	commit := set["vcs.revision"]
	switch {
	case commit == "":
		return "of an unknown version (built without git; make build sets it)"
	case set["vcs.modified"] == "true":
		return commit[:min(12, len(commit))] + "-dirty"
	}
	return commit[:min(12, len(commit))]
}
