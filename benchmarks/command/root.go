// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"
	"path/filepath"
)

// AtRoot changes to the repository's top directory.
func AtRoot() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "benchmarks", "go.mod")); err == nil {
			return os.Chdir(dir)
		}
		if dir == filepath.Dir(dir) {
			return fmt.Errorf("run this within a checkout of prywalk: no directory above has benchmarks/go.mod")
		}
	}
}
