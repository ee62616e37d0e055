// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOnlyUnusedTargetsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-keepUnused - time.Hour)
	for _, name := range []string{"used", "unused"} {
		dir := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Join(dir, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	markUsed(filepath.Join(cache, "used"))
	removeUnused(cache)
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 1 || left[0].Name() != "used" {
		t.Errorf("left: %v, %v", left, err)
	}
}
