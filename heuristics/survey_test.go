// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestSurvey measures the files in HEURISTICS_SURVEY (separated by colons), without a floor.
func TestSurvey(t *testing.T) {
	list := filepath.SplitList(os.Getenv("HEURISTICS_SURVEY"))
	if len(list) == 0 {
		t.Skip("HEURISTICS_SURVEY names no files")
	}
	every, _ := strconv.Atoi(os.Getenv("HEURISTICS_EVERY"))
	show, _ := strconv.Atoi(os.Getenv("HEURISTICS_SHOW"))
	if s := os.Getenv("HEURISTICS_CLASS"); s != "" {
		showClass = s
	}
	for _, path := range list {
		funcs, code := readCFI(t, path), openCode(t, path)
		for _, bounds := range []bool{true, false} {
			for _, caller := range []bool{false, true} {
				c := judge(t, path, funcs, code, bounds, max(every, 1), caller, show)
				t.Logf("%-20s bounds %-5v caller %-5v %v", filepath.Base(path), bounds, caller, c)
			}
		}
	}
}
