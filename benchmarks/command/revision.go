// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os/exec"
	"strings"
)

// Revision names the checkout's commit, "" outside of one.
func Revision() string { return FirstLine("git", "describe", "--always", "--dirty") }

// FirstLine returns the first line of a command's output; "" if it fails.
func FirstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
