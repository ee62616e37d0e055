// SPDX-License-Identifier: Apache-2.0

//go:build man

package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"prywalk/internal/outfile"
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
			return writeManPages(cmd.Root(), args[0])
		},
	}
}

func writeManPages(root *cobra.Command, dir string) error {
	pages := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			pages = append(pages, c)
		}
	}
	for _, c := range pages {
		page, err := manPage(c)
		if err != nil {
			return fmt.Errorf("manual page of %s: %w", c.CommandPath(), err)
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if err := outfile.Write(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := w.Write(page)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func manPage(c *cobra.Command) ([]byte, error) {
	page := *c
	page.Example, page.Long = splitExamples(c.Long)
	page.DisableAutoGenTag = true
	var b bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Source: strings.TrimSpace("prywalk " + built), Manual: "prywalk manual"}
	if err := doc.GenMan(&page, header, &b); err != nil {
		return nil, err
	}
	body, seeAlso, _ := strings.Cut(b.String(), ".SH SEE ALSO")
	body = strings.Replace(body, ".SH EXAMPLE\n", ".SH EXAMPLES\n", 1)
	body = strings.ReplaceAll(body, "[=false]", "")
	var out strings.Builder
	out.WriteString(body)
	manSection(&out, "EXIT STATUS", exitStatus())
	manSection(&out, "FILES", files)
	if text := overheads[c.Name()]; text != "" {
		manSection(&out, "OVERHEAD", text)
	}
	out.WriteString(".SH SEE ALSO" + seeAlso)
	return []byte(out.String()), nil
}

func splitExamples(long string) (examples, text string) {
	lines := strings.Split(long, "\n")
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], "  ") {
		n++
	}
	return strings.Join(lines[:n], "\n"), strings.TrimSpace(strings.Join(lines[n:], "\n"))
}
