// SPDX-License-Identifier: Apache-2.0

// Package exit says what prywalk's exit codes stand for, and lets an error decide which one it is.
package exit

import "fmt"

// Exit codes. A launched command's own status comes before them.
const (
	OK         = 0
	Failed     = 1
	WrongUsage = 2
	Denied     = 3
	NoSamples  = 4
	Deadlock   = 5   // of dump --locks
	Slower     = 6   // of diff --fail-above
	OwnFailure = 125 // of record -- COMMAND, when prywalk itself failed
)

// Error is an error that decides the exit code. With a nil Err nothing is printed.
type Error struct {
	Code int
	Err  error
}

// Error implements error; "" without Err.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// With makes an error that exits with a code.
func With(code int, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// Usage makes an error that exits with 2.
func Usage(format string, args ...any) error { return With(WrongUsage, format, args...) }
