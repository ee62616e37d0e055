// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"

	"prywalk/internal/testtargets"
)

// Prywalk returns file, or if that is empty builds prywalk in dir.
func Prywalk(file, dir string) (string, error) {
	if file != "" {
		return file, nil
	}
	file = filepath.Join(dir, "prywalk")
	return file, testtargets.BuildPrywalk(file)
}
