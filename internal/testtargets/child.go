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

// Eventually waits for a condition of another process.
func Eventually(tb TB, what string, cond func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatal(fmt.Errorf("never happened: %s", what))
		}
	}
}
