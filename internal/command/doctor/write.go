// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
)

// By level (ECMA-48, SGR).
var colours = [...]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[31;1m"}

// Write prints aligned columns, equal remedies once, and the command for capabilities at the end. columns is the
// terminal's width; 0: unlimited.
func Write(w io.Writer, fs []Finding, colour bool, columns int) error {
	width := 0
	for _, f := range fs {
		width = max(width, tabular.Width(f.Name))
	}
	b := bufio.NewWriter(w)
	seen := map[string]bool{"": true}
	var grant Finding
	for _, f := range fs {
		word := printable.Raw(fmt.Sprintf("%-4s", f.Level))
		if colour {
			word = printable.Raw(colours[f.Level]) + word + "\x1b[0m"
		}
		indent := len("fail  ") + width + len("  ")
		printable.Fprintf(b, "%s  %s  %s\n", word, tabular.Pad(f.Name, width), wrapped(f.Detail, indent, columns))
		if !seen[f.Remedy] {
			seen[f.Remedy] = true
			printable.Fprintf(b, "      %-*s  → %s\n", width, "", wrapped(f.Remedy, indent+tabular.Width("→ "),
				columns))
		}
		switch {
		case f.needsCaps != 0:
			grant = f
		case f.Command != "": // not wrapped: to be pasted
			printable.Fprintf(b, "      %-*s  → %s\n", width, "", f.Command)
		}
	}
	if grant.minimalCommand != "" {
		printable.Fprintf(b, "needed for other users' processes:\n      %s\nrecommended:\n", grant.minimalCommand)
	}
	if grant.Command != "" {
		printable.Fprintf(b, "      %s\nWho may run the file has these rights then; restrict that: prywalk help rights\n",
			grant.Command)
	}
	return b.Flush()
}

// jsonFindings is the result of doctor.
type jsonFindings struct {
	schema.Head
	// Worst is the highest level of all findings.
	Worst    string        `json:"worst"`
	Findings []jsonFinding `json:"findings"`
}

// jsonFinding is the result of one check.
type jsonFinding struct {
	Name string `json:"name"`
	// Level is ok, warn or fail.
	Level  string `json:"level"`
	Detail string `json:"detail"`
	// Remedy is the next step, in words.
	Remedy string `json:"remedy,omitempty"`
	// Command is the remedy as a command line.
	Command string `json:"command,omitempty"`
}

// WriteJSON writes one object.
func WriteJSON(w io.Writer, fs []Finding) error {
	out := jsonFindings{Worst: Worst(fs).String(), Findings: []jsonFinding{}}
	for _, f := range fs {
		out.Findings = append(out.Findings, jsonFinding{f.Name, f.Level.String(), f.Detail, f.Remedy, f.Command})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func wrapped(s string, indent, columns int) printable.Raw {
	if indent > columns*2/3 {
		columns = 0
	}
	return tabular.HangingIndent(columns, indent, s)
}
