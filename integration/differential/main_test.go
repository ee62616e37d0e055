// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"prywalk/internal/testtargets"
)

var tool string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "prywalk-differential-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	tool = filepath.Join(dir, "prywalk")
	if err := testtargets.BuildPrywalk(tool); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
