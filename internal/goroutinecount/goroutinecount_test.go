// SPDX-License-Identifier: Apache-2.0

package goroutinecount

import (
	"errors"
	"strings"
	"testing"
)

func TestAdviceForACoreNeedsNoProcess(t *testing.T) {
	for pid, want := range map[int]string{0: "dlv core", 7: "dlv attach"} {
		got := unknownText("that wait", errors.New("a reason"), pid)
		if !strings.Contains(got, "a reason; to see them") || !strings.Contains(got, want) ||
			pid == 0 && (strings.Contains(got, "attach") || strings.Contains(got, "kill")) {
			t.Errorf("pid %d: %s", pid, got)
		}
	}
}
