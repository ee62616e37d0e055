// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// In percent.
const maxWrongOfGiven = 1.0

// TestRulesAgreeWithCallFrameInformationOfGivenFiles measures the files in HEURISTICS_SURVEY (separated by colons).
func TestRulesAgreeWithCallFrameInformationOfGivenFiles(t *testing.T) {
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
				if wrong := c.share(c.count[wrongCFA] + c.count[wrongReg]); bounds && wrong > maxWrongOfGiven {
					t.Errorf("%s: wrong %.3f %% with bounds (limit %v)", path, wrong, maxWrongOfGiven)
				}
			}
		}
	}
}
