// SPDX-License-Identifier: Apache-2.0

// Package exit defines prywalk's exit codes, and errors that choose one.
package exit

import (
	"errors"
	"fmt"
	"strings"
)

// Exit codes. A launched command's own status comes first.
const (
	OK              = 0
	Failed          = 1
	WrongUsage      = 2
	Denied          = 3
	NoSamples       = 4
	Deadlock        = 5   // dump --locks
	GrowthExceeded  = 6   // diff --fail-above
	InternalFailure = 125 // record -- COMMAND, if prywalk failed
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
func Usage(format string, args ...any) error { return With(WrongUsage, format, args...) }

// Internal gives a failure of prywalk with a launched command exit code 125; wrong usage keeps its own.
func Internal(err error) error {
	if e, ok := errors.AsType[*Error](err); err == nil || ok && e.Code == WrongUsage {
		return err
	}
	return &Error{InternalFailure, err}
}

type joined struct{ errs []error }

// Join is as [errors.Join], with the messages in one line.
func Join(errs ...error) error {
	j := &joined{}
	for _, err := range errs {
		if err != nil {
			j.errs = append(j.errs, err)
		}
	}
	switch len(j.errs) {
	case 0:
		return nil
	case 1:
		return j.errs[0]
	}
	return j
}

// Error implements error.
func (j *joined) Error() string {
	var texts []string
	for _, err := range j.errs {
		if text := err.Error(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// Unwrap is for package errors.
func (j *joined) Unwrap() []error { return j.errs }
