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
	"prywalk/internal/schema"
	"prywalk/internal/stranger"
)

// Messages is where say writes to: stderr, or a buffer while the terminal shows a table.
var Messages messageWriter

// mostHeld is how much of them is kept, in bytes.
const mostHeld = 16 << 10

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
	if m.held.Len()+len(b) <= mostHeld {
		m.held.Write(b)
	}
	return len(b), nil
}

// Hold keeps what is said from now on.
func (m *messageWriter) Hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = true
}

// Tell writes what was held, and what is said from now on.
func (m *messageWriter) Tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = false
	_, _ = m.held.WriteTo(os.Stderr) // there is nobody to tell that this failed
}

// SayLeftOut says what was left out for lack of memory, if anything was.
func SayLeftOut() {
	if line := budget.Process().LeftOut(); line != "" {
		Say("%s", line)
	}
}

// quiet: only errors are written.
var quiet atomic.Bool

// Quiet leaves out all messages but errors.
func Quiet(yes bool) { quiet.Store(yes) }

// IsQuiet reports whether only errors are written: there is no line of progress then, either.
func IsQuiet() bool { return quiet.Load() }

// Say writes a message to stderr, unless only errors are wanted. What strings and errors among args have from the
// target is made printable.
func Say(format string, args ...any) {
	if !quiet.Load() {
		Fail(format, args...)
	}
}

// Fail writes an error to stderr, as [Say] does.
func Fail(format string, args ...any) { printable.Fprintf(&Messages, "prywalk: "+format+"\n", args...) }

// failure is an error for programs.
type failure struct {
	schema.Head
	Error failed `json:"error"`
}

// failed says what failed, and what to do.
type failed struct {
	// Code is the exit code.
	Code int `json:"code"`
	// Cause is what failed, on what.
	Cause string `json:"cause"`
	// Remedy is the next step, where the message names one.
	Remedy string `json:"remedy,omitempty"`
}

// FailJSON writes an error to stderr as one line of JSON.
func FailJSON(code int, message string) {
	f := failure{Error: failed{Code: code}}
	f.Error.Cause, f.Error.Remedy = remedy(message)
	text, err := json.Marshal(f)
	if err != nil { // texts and a number can be encoded
		Fail("%s", message)
		return
	}
	_, _ = Messages.Write(append(printable.JSON(text), '\n'))
}

// steps finds where the next step begins in a message that has it after a colon.
var steps = regexp.MustCompile(`: (give|choose|use|check|leave|open|raise|run|add|name) `)

// remedy divides a message at its first semicolon outside of brackets, or where the next step begins.
func remedy(message string) (cause, next string) {
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

// SayRemarks says which files were not used, and why.
func SayRemarks() {
	for _, line := range stranger.Remarks() {
		Say("%s", line)
	}
}
