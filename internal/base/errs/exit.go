// SPDX-License-Identifier: Apache-2.0

package errs

import (
	"errors"
	"fmt"
)

// Exit codes. A launched command's own status comes first.
const (
	ExitOK             = 0
	ExitFailed         = 1
	ExitUsage          = 2
	ExitDenied         = 3
	ExitNoSamples      = 4
	ExitDeadlock       = 5   // dump --locks
	ExitGrowthExceeded = 6   // diff --fail-above
	ExitInternal       = 125 // record -- COMMAND, if prywalk failed
)

// Error is an error with an exit code. With a nil Err nothing is printed.
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

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// With makes an error with an exit code.
func With(code int, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// Usage makes an error with exit code 2.
func Usage(format string, args ...any) error { return With(ExitUsage, format, args...) }

// Internal gives a failure of prywalk with a launched command exit code 125; wrong usage keeps its own.
func Internal(err error) error {
	if e, ok := errors.AsType[*Error](err); err == nil || ok && e.Code == ExitUsage {
		return err
	}
	return &Error{ExitInternal, err}
}

// Join is as [errors.Join], with the messages in one line.
func Join(errs ...error) (all error) {
	for _, err := range errs {
		switch {
		case all == nil:
			all = err
		case err != nil:
			separator := "; "
			if all.Error() == "" || err.Error() == "" {
				separator = ""
			}
			all = fmt.Errorf("%w%s%w", all, separator, err)
		}
	}
	return all
}
