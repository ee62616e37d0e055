// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Receive returns what comes from a channel, or the zero value once it is closed. After four minutes the test fails, and
// says what it waited for.
func Receive[T any](tb TB, what string, from <-chan T) T {
	tb.Helper()
	v, came := Received(from)
	if !came {
		tb.Fatal(fmt.Errorf("not within %v: %s", patience, what))
	}
	return v
}

// Received waits like [Receive], and reports whether something came or the channel is closed: for goroutines other than
// the test's, which must not end it.
func Received[T any](from <-chan T) (v T, came bool) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case v = <-from:
		return v, true
	case <-late.C:
		return v, false
	}
}

// commandLimit bounds a command. The longest ones compile with an empty cache on a busy machine.
const commandLimit = 10 * time.Minute

var errLate = fmt.Errorf("it was killed after %v", commandLimit)

// RunCommand is cmd.Run with a bound. An error says what was run, and what it wrote, unless the caller reads that.
func RunCommand(cmd *exec.Cmd) error {
	var out bytes.Buffer
	return runCommand(cmd, &out, &out)
}

// Output is cmd.Output with a bound. An error says what was run, and what it wrote to its standard error, unless the
// caller reads that.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	err := runCommand(cmd, &out, &errs)
	return out.Bytes(), err
}

// CombinedOutput is cmd.CombinedOutput with a bound. An error says what was run.
func CombinedOutput(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := runCommand(cmd, nil, nil)
	return out.Bytes(), err
}

// runCommand writes to out and errs what the caller has not directed elsewhere.
func runCommand(cmd *exec.Cmd, out, errs *bytes.Buffer) error {
	if cmd.Stdout == nil && out != nil {
		cmd.Stdout = out
	}
	if cmd.Stderr == nil && errs != nil {
		cmd.Stderr = errs
	}
	cmd.WaitDelay = patience // children that outlive it may hold its output open
	err := cmd.Start()
	if err == nil {
		err = waitBounded(cmd, commandLimit)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%v: %w", cmd.Args, err)
	if errs != nil && errs.Len() > 0 {
		err = fmt.Errorf("%w; it wrote:\n%s", err, bytes.TrimSpace(errs.Bytes()))
	}
	return err
}

func waitBounded(cmd *exec.Cmd, limit time.Duration) error {
	killed := make(chan struct{})
	late := time.AfterFunc(limit, func() {
		_ = cmd.Process.Kill()
		close(killed)
	})
	err := cmd.Wait()
	if !late.Stop() {
		<-killed // the function runs
		return errors.Join(errLate, err)
	}
	return err
}
