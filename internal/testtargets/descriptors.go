// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"testing"
)

// Descriptors counts this process's open descriptors.
func Descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
