// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"prywalk/internal/budget"
	"prywalk/internal/printable"
	"prywalk/internal/safeopen"
	"prywalk/internal/schema"
)

// Messages go to stderr, or into a buffer while a table is on the terminal.
var Messages messageWriter

const maxHeld = 16 << 10

type messageWriter struct {
	mu      sync.Mutex
	holding bool
	held    bytes.Buffer
}

// Write implements io.Writer.
func (m *messageWriter) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.holding {
		return os.Stderr.Write(b)
	}
	if m.held.Len()+len(b) <= maxHeld {
		m.held.Write(b)
	}
	return len(b), nil
}

// Hold buffers from now on.
func (m *messageWriter) Hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = true
}

// Tell writes the buffer, and ends buffering.
func (m *messageWriter) Tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = false
	_, _ = m.held.WriteTo(os.Stderr)
}

// SayLeftOut reports what memory limits left out.
func SayLeftOut() {
	if line := budget.Process().LeftOut(); line != "" {
		Say("%s", line)
	}
}

var quiet atomic.Bool

// Quiet suppresses messages other than errors, and progress.
func Quiet(yes bool) { quiet.Store(yes) }

// IsQuiet is as set by Quiet.
func IsQuiet() bool { return quiet.Load() }

// Say writes a message to stderr, unless quiet. Strings and errors in args are made printable.
func Say(format string, args ...any) {
	if !quiet.Load() {
		Fail(format, args...)
	}
}

// Fail writes an error to stderr, as Say does.
func Fail(format string, args ...any) { printable.Fprintf(&Messages, "prywalk: "+format+"\n", args...) }

// failure is the JSON of an error.
type failure struct {
	schema.Head
	Error failed `json:"error"`
}

type failed struct {
	// Code is the exit code.
	Code int `json:"code"`
	// Cause is what failed, and on what.
	Cause string `json:"cause"`
	// Remedy is the next step, if the message has one.
	Remedy string `json:"remedy,omitempty"`
}

// FailJSON writes an error to stderr as a line of JSON.
func FailJSON(code int, message string) {
	f := failure{Error: failed{Code: code}}
	f.Error.Cause, f.Error.Remedy = splitRemedy(message)
	text, err := json.Marshal(f)
	if err != nil {
		Fail("%s", message)
		return
	}
	_, _ = Messages.Write(append(printable.JSON(text), '\n'))
}

// steps match a next step after a colon.
var steps = regexp.MustCompile(`: (give|choose|use|check|leave|open|raise|run|add|name) `)

// splitRemedy divides a message at the first semicolon outside of parentheses, or at steps.
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
	if at := steps.FindStringIndex(message); at != nil {
		return message[:at[0]], message[at[0]+len(": "):]
	}
	return message, ""
}

// SayRemarks reports unused files, and why.
func SayRemarks() {
	for _, line := range safeopen.Remarks() {
		Say("%s", line)
	}
}
