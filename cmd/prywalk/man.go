// SPDX-License-Identifier: Apache-2.0

//go:build man

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Built by "make dist" only: it needs a Markdown library.
func init() { buildOnly = append(buildOnly, newMan) }

// newMan dates pages by SOURCE_DATE_EPOCH.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			for _, c := range root.Commands() {
				c.Example, c.Long = splitExamples(c.Long)
				c.DisableAutoGenTag = true
			}
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: strings.TrimSpace("prywalk " + built),
				Manual: "prywalk manual"}, args[0])
		},
	}
}

func splitExamples(long string) (examples, text string) {
	lines := strings.Split(long, "\n")
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], "  ") {
		n++
	}
	return strings.Join(lines[:n], "\n"), strings.TrimSpace(strings.Join(lines[n:], "\n"))
}
