// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"

	"prywalk/internal/refusal"
)

// Error says why a process cannot be looked at, and what to do about it. Its
// text is one line.
type Error struct {
	PID   int
	Kind  refusal.Reason
	Cause string // what is in the way
	Next  string // the smallest step that helps; empty if there is none
	Err   error  // what the kernel said, if anything
	Gate  *Gate  // the check that was seen to be in the way; nil: the cause is what remains
}

// Error gives the cause and the next step in one line.
func (e *Error) Error() string {
	if e.Next == "" {
		return fmt.Sprintf("process %d: %s", e.PID, e.Cause)
	}
	return fmt.Sprintf("process %d: %s; %s", e.PID, e.Cause, e.Next)
}

// Unwrap gives the reason, for [errors.Is], and what the kernel said.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
