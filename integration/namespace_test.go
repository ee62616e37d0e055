// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"testing"
)

// TestAProcOfAnotherPidNamespaceIsRefused: its numbers are of other processes than those that system calls mean.
// Before, the names of one process came with the stacks of another.
func TestAProcOfAnotherPidNamespaceIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make a pid namespace")
	}
	for _, args := range [][]string{
		{"record", "-d", "1", "-p", "1"}, {"record", "--", "true"}, {"dump", "-p", "1"}, {"top", "-p", "1"},
		{"doctor", "-p", "1"},
	} {
		r := command{args: append([]string{"--pid", "--fork", binary}, args...), exe: "unshare"}.run(t)
		code := 1
		if args[1] == "--" {
			code = 125
		}
		r.must(t, code).oneLine(t, "/proc is that of another pid namespace", "mount -t proc proc /proc")
	}
}
