// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// In percent: least right, most wrong.
type floor struct {
	bounds, caller bool
	right, wrong   float64
}

// Most rules, in percent, that neither call frame information nor a confirmed state judges.
const maxUnproven = 0.1

func hold(t *testing.T, path string, every int, floors []floor) {
	t.Helper()
	funcs, code := readCFI(t, path), openCode(t, path)
	for _, f := range floors {
		c := judge(t, path, funcs, code, f.bounds, every, f.caller, 3)
		t.Logf("bounds %-5v caller %-5v %v", f.bounds, f.caller, c)
		right, wrong := c.share(c.count[right]), c.share(c.count[wrongCFA]+c.count[wrongReg])
		if right < f.right || wrong > f.wrong {
			t.Errorf("bounds %v, caller %v: right %.2f %% (floor %.2f), wrong %.3f %% (limit %.3f)",
				f.bounds, f.caller, right, f.right, wrong, f.wrong)
		}
		if unproven := c.share(c.count[unproven]); unproven > maxUnproven {
			t.Errorf("bounds %v, caller %v: unproven %.3f %%", f.bounds, f.caller, unproven)
		}
	}
}

func TestRulesAgreeWithCallFrameInformationOfLibc(t *testing.T) {
	hold(t, findLibc(t), 11, []floor{
		{true, false, 99, 0.1}, {true, true, 97, 0.1},
		{false, false, 95, 0.2}, {false, true, 80, 0.2},
	})
}

func TestRulesAgreeWithTheCompilersFrames(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc, which the test set-up installs")
	}
	for _, flags := range []string{
		"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O1 -fno-omit-frame-pointer",
		"-O0 -fomit-frame-pointer",
		"-O2 -fstack-clash-protection", "-O2 -fstack-protector-all", "-O2 -fcf-protection", "-O2 -mavx512f",
	} {
		t.Run(strings.ReplaceAll(flags, " ", ""), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "functions.so")
			args := append(strings.Fields(flags), "-shared", "-fPIC", "-o", out, "testdata/functions.c")
			if msg, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, msg)
			}
			hold(t, out, 1, []floor{
				{true, false, 99.5, 0.1}, {true, true, 99.5, 0.1},
				{false, false, 85, 1}, {false, true, 45, 0.1},
			})
		})
	}
}

// The C library for arm64 comes with cross compilers.
func TestRulesAgreeWithCallFrameInformationOnArm64(t *testing.T) {
	paths, _ := filepath.Glob("/usr/aarch64-linux-gnu/lib/libc.so.6")
	if len(paths) == 0 {
		t.Skip("needs the package libc6-arm64-cross, which the test set-up installs")
	}
	hold(t, paths[0], 23, []floor{
		{true, false, 99.5, 0.1}, {true, true, 99.5, 0.1},
		{false, false, 95, 0.2}, {false, true, 80, 0.5},
	})
}
