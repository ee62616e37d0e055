// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"path/filepath"
	"time"
)

// keepUnused is how long a compiled target that no run uses is kept.
const keepUnused = 30 * 24 * time.Hour

// markUsed sets the time of a directory's last use. It fails for one that is not there yet.
func markUsed(dir string) {
	now := time.Now()
	_ = os.Chtimes(dir, now, now)
}

// removeUnused removes the directories of a cache that have not been used or written since [keepUnused].
func removeUnused(cache string) {
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && time.Since(info.ModTime()) > keepUnused {
			_ = os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}
