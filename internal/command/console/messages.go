// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/safeopen"
)

// Stderr writes messages to the standard error, or to a buffer while a table is on the terminal.
var Stderr stderr

const maxBuffer = 16 << 10

type stderr struct {
	mu           sync.Mutex
	buffering    bool
	buffer       bytes.Buffer
	progressLine bool // the cursor is behind one
}

// Write implements io.Writer. It removes the progress line, which the next update shows again.
func (m *stderr) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.buffering {
		m.removeProgressLine()
		return os.Stderr.Write(b)
	}
	if m.buffer.Len()+len(b) <= maxBuffer {
		m.buffer.Write(b)
	}
	return len(b), nil
}

// Buffer keeps later messages; those beyond maxBuffer bytes are dropped.
func (m *stderr) Buffer() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.buffering = true
}

// Flush writes the buffer and ends buffering.
func (m *stderr) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.buffering = false
	_, _ = m.buffer.WriteTo(os.Stderr)
}

// ReportOmitted reports what memory limits left out.
func ReportOmitted() {
	if line := filememory.Process().Refusals(); line != "" {
		Infof("%s", line)
	}
}

var quiet atomic.Bool

// Quiet suppresses progress and messages other than errors.
func Quiet(yes bool) { quiet.Store(yes) }

// IsQuiet reports what [Quiet] set.
func IsQuiet() bool { return quiet.Load() }

// Infof writes a message to stderr, unless quiet. Strings and errors in args are made printable.
func Infof(format string, args ...any) {
	if !quiet.Load() {
		Errorf(format, args...)
	}
}

// Errorf is [Infof] that writes even if quiet.
func Errorf(format string, args ...any) { printable.Fprintf(&Stderr, "prywalk: "+format+"\n", args...) }

// jsonError is the JSON of an error.
type jsonError struct {
	schema.Head
	Error errorObject `json:"error"`
}

type errorObject struct {
	// Code is the exit code.
	Code int `json:"code"`
	// Cause is what failed, and on what.
	Cause string `json:"cause"`
	// Remedy is the next step, if the message has one.
	Remedy string `json:"remedy,omitempty"`
}

// ErrorJSON writes an error to stderr as a line of JSON.
func ErrorJSON(code int, message string) {
	f := jsonError{Error: errorObject{Code: code}}
	f.Error.Cause, f.Error.Remedy = splitRemedy(message)
	_ = printable.WriteJSON(&Stderr, f)
}

var remedyPattern = regexp.MustCompile(`: (give|choose|use|check|leave|open|raise|run|add|name) `)

// splitRemedy divides at the first semicolon outside of parentheses, or at remedyPattern.
func splitRemedy(message string) (cause, next string) {
	depth := 0
	for i, r := range message {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ';':
			if depth <= 0 {
				return message[:i], strings.TrimSpace(message[i+1:])
			}
		}
	}
	if at := remedyPattern.FindStringIndex(message); at != nil {
		return message[:at[0]], message[at[0]+len(": "):]
	}
	return message, ""
}

// ReportUnusedFiles reports unused files and why.
func ReportUnusedFiles() {
	for _, line := range safeopen.SkippedFiles() {
		Infof("%s", line)
	}
}
