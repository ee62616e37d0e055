// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"

	"prywalk/internal/base/refusal"
)

// Error is why a process cannot be sampled, with the next step.
type Error struct {
	PID   int
	Kind  refusal.Reason
	Cause string
	Next  string // smallest step that helps, or ""
	Err   error  // the kernel's error, or nil
	Gate  *Gate  // the failed check; nil: inferred
}

// Error returns cause and next step in one line.
func (e *Error) Error() string {
	if e.Next == "" {
		return fmt.Sprintf("process %d: %s", e.PID, e.Cause)
	}
	return fmt.Sprintf("process %d: %s; %s", e.PID, e.Cause, e.Next)
}

// Unwrap returns the reason, for [errors.Is], and the kernel's error.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
