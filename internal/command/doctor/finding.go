// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/host/process"
)

// Level is a [Finding]'s weight.
type Level string

// Levels, by rising weight.
const (
	OK   Level = "ok"
	Warn Level = "warn" // prywalk works, with less
	Fail Level = "fail" // prywalk does not work
)

// Finding is the result of one check.
type Finding struct {
	Name string `json:"name"`
	// Level is ok, warn or fail.
	Level Level `json:"level"`
	// Detail is the finding and its consequence.
	Detail string `json:"detail"`
	// Remedy is the smallest step that helps, in words.
	Remedy string `json:"remedy,omitempty"`
	// Command is the remedy as a command line.
	Command string `json:"command,omitempty"`

	denied bool // a right is missing
	// needsCaps are added by setcap; 0 means that Command is another one. One command adds those of all findings, as each
	// setcap replaces the one before.
	needsCaps      uint64
	minimalCommand string // Command for other users' processes only
}

func finding(level Level, detail, remedy string) Finding {
	return Finding{Level: level, Detail: detail, Remedy: remedy}
}

func failure(err error) Finding {
	e, ok := errors.AsType[*process.Error](err)
	if !ok {
		return finding(Fail, err.Error(), "")
	}
	f := finding(Fail, e.Cause, e.Next)
	f.denied = errors.Is(err, errs.Denied)
	if e.Gate != nil {
		f.Remedy, f.Command, f.needsCaps = e.Gate.Remedy, e.Gate.Command, e.Gate.Needs
	}
	return f
}

// Worst returns the gravest level.
func Worst(fs []Finding) Level {
	for _, level := range []Level{Fail, Warn} {
		if slices.ContainsFunc(fs, func(f Finding) bool { return f.Level == level }) {
			return level
		}
	}
	return OK
}

// Denied reports whether a right is missing, without which a check failed.
func Denied(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.denied })
}

// By level (ECMA-48, SGR).
var colours = map[Level]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[31;1m"}

// Write prints aligned columns, equal remedies once, and the command for capabilities at the end. columns is the
// terminal's width; 0 means that it is not limited.
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
	Worst    Level     `json:"worst"`
	Findings []Finding `json:"findings"`
}

// WriteJSON writes one object.
func WriteJSON(w io.Writer, fs []Finding) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(jsonFindings{Worst: Worst(fs), Findings: fs})
}

func wrapped(s string, indent, columns int) printable.Raw {
	if indent > columns*2/3 {
		columns = 0
	}
	return tabular.HangingIndent(columns, indent, s)
}
