// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os/exec"
	"time"
)

// Child starts a program and kills it at the test's end.
func Child(tb TB, cmd *exec.Cmd) *exec.Cmd {
	tb.Helper()
	logErrors(tb, cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { Kill(cmd) })
	return cmd
}

// Eventually waits for a state of another process, such as a thread that sleeps, for four minutes at most. Then the
// test fails and says what it waited for.
func Eventually(tb TB, what string, cond func() bool) {
	tb.Helper()
	if !Comes(cond) {
		tb.Fatal(fmt.Errorf("not within %v: %s", patience, what))
	}
}

// Comes waits for a state like [Eventually], and reports whether it came: for goroutines other than the test's, which
// must not end it.
func Comes(cond func() bool) bool {
	for end := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) { // between two looks
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
